"""The scripted source, steered over its control routes as the e2e tests do it."""

import asyncio
from contextlib import asynccontextmanager

import httpx

from local.model.control import control_routes
from local.model.demo.source import DemoSource
from local.model.reply import TextDelta
from local.model.script import Match, Reply, Script, Wait
from local.model.scripted import ScriptedSource
from local.model.server import model_app
from local.serving import listen, serving
from tests.unit.local.conversation import LOOKUP, SAVE, answer, called, request


def source() -> ScriptedSource:
    return ScriptedSource(DemoSource(pause=0))


@asynccontextmanager
async def control(scripts: ScriptedSource):
    app = model_app(scripts, control=control_routes(scripts))
    async with serving(app, listen(0, "")) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


async def test_users_at_the_same_time_get_their_own_scripts():
    scripts = source()
    for user in ("ada", "bob"):
        scripts.add(Script(match=Match(contains=user), replies=[Reply(text=f"for {user}")]))
    answers = await asyncio.gather(*(answer(scripts, request(f"I am {user}")) for user in ("bob", "ada")))
    assert [text for text, *_ in answers] == ["for bob", "for ada"]


async def test_replies_are_used_in_order_and_then_the_fallback_answers():
    scripts = source()
    scripts.add(Script(replies=[Reply(text="one"), Reply(text="two")]))
    texts = [(await answer(scripts, request("What is my name?")))[0] for _ in range(3)]
    assert texts == ["one", "two", "You have not told me your name."]
    assert [record.script is None for record in scripts.requests] == [False, False, True]


async def test_repeated_script_goes_on_with_its_last_reply():
    scripts = source()
    scripts.add(Script(replies=[Reply(text="one"), Reply(text="two")], repeat=True))
    assert [(await answer(scripts, request("x")))[0] for _ in range(4)] == ["one", "two", "two", "two"]


async def test_scripts_can_be_bound_to_what_a_request_is_for():
    scripts = source()
    scripts.add(Script(match=Match(field="entries"), replies=[Reply(structured={"entries": []})]))
    scripts.add(Script(match=Match(after_tool="save_memory"), replies=[Reply(text="saved")]))
    scripts.add(Script(match=Match(kind="answer", last_user_contains="Hi"), replies=[Reply(text="hello")]))
    schema = {"type": "object", "properties": {"entries": {"type": "array"}}}
    summary = request(
        "Hi",
        tools=[{"name": "Out", "schema": schema}],
        toolConfig={"toolChoice": {"tool": {"name": "Out"}}},
    )
    assert (await answer(scripts, summary))[1] == [("Out", {"entries": []})]
    after = request("Hi", *called("save_memory", {}, {"ok": True}), tools=(SAVE, LOOKUP))
    assert (await answer(scripts, after))[0] == "saved"
    assert (await answer(scripts, request("Hi there")))[0] == "hello"


async def test_reply_waits_at_a_gate_until_it_is_opened_over_http():
    scripts = source()
    async with control(scripts) as client:
        script = Script(replies=[Reply(text="One two", waits=[Wait(gate="g", before=1)])])
        made = await client.post("/_control/scripts", content=script.model_dump_json())
        assert made.status_code == 201
        parts = scripts.reply(request("x"))
        assert await anext(parts) == TextDelta("One ")
        second = asyncio.ensure_future(anext(parts))
        while (await client.get("/_control/gates/g")).json() != {"waiting": 1}:
            assert not second.done()
        await client.post("/_control/gates/g")
        assert await second == TextDelta("two")
        assert (await client.get("/_control/gates/g")).json() == {"waiting": 0}
        await parts.aclose()


async def test_recorded_requests_can_be_read_and_filtered():
    scripts = source()
    async with control(scripts) as client:
        await answer(scripts, request("about apples", profile={"name": "Ada"}))
        await answer(scripts, request("about pears"))
        (record,) = (await client.get("/_control/requests", params={"contains": "apples"})).json()
    assert record["number"] == 1
    assert '"name": "Ada"' in record["body"]["system"][0]["text"]


async def test_script_that_makes_no_sense_is_refused():
    async with control(source()) as client:
        refused = await client.post("/_control/scripts", json={"replies": [], "colour": "red"})
    assert refused.status_code == 400
    assert "colour" in refused.json()["message"]
