"""Software that nobody here wrote, pointed at the product: it works as its makers' documents say."""

import pytest
from langgraph.pregel.remote import RemoteGraph

from local.model.script import Failure, Reply, ScriptedCall, Wait
from tests.e2e import node_client
from tests.e2e.model import user_texts
from tests.e2e.people import content_text, events_of


@pytest.fixture(scope="session")
def npm_clients():
    node_client.install()


@pytest.fixture(scope="session")
def chromium():
    found = node_client.chromium()
    if found is None:
        pytest.skip("There is no Chromium on this machine.")
    return found


ASKS = Reply(text="Let me ask.", tool_calls=[ScriptedCall(name="ask_the_user", arguments={"question": "Which day?"})])


async def test_the_javascript_sdk(product, people, model, npm_clients, word):
    for question, reply in {
        "Count": Reply(text="one two", waits=[Wait(gate=f"{word}-first", before=1)]),
        "And then": Reply(text="three"),
        "Speak": Reply(text="a b", waits=[Wait(gate=f"{word}-stop", before=1)]),
        "Again": Reply(text="x y", waits=[Wait(gate=f"{word}-join", before=1)]),
    }.items():
        await model.script(reply, last_user_contains=f"{question}, {word}", kind="answer")
    await node_client.run("sdk.mjs", product, people.someone(), word=word)


async def test_use_stream_in_a_page(product, people, model, npm_clients, word):
    for question, replies in {
        "Count": [Reply(text="one two", waits=[Wait(gate=f"{word}-first", before=1)])],
        "And then": [Reply(text="three")],
        "Instead": [Reply(text="four"), Reply(text="five")],
        "Reload": [Reply(text="before after", waits=[Wait(gate=f"{word}-reload", before=1)])],
        "Speak": [Reply(text="a b", waits=[Wait(gate=f"{word}-stop", before=1)])],
        "Fail": [Reply(failure=Failure(code="AccessDeniedException"))],
        "Wait": [Reply(text="waited")],
    }.items():
        await model.script(*replies, last_user_contains=f"{question}, {word}", kind="answer")
    await node_client.run("react.mjs", product, people.someone(), word=word)


async def test_use_stream_in_a_browser(product, people, model, npm_clients, chromium, word):
    for question, replies in {
        "Count": [Reply(text="one two", waits=[Wait(gate=f"{word}-first", before=1)])],
        "And then": [Reply(text="three")],
        "Instead": [Reply(text="four"), Reply(text="five")],
        "Reload": [Reply(text="before after", waits=[Wait(gate=f"{word}-reload", before=1)])],
        "Speak": [Reply(text="a b", waits=[Wait(gate=f"{word}-stop", before=1)])],
        "Halt": [Reply(text="b c", waits=[Wait(gate=f"{word}-halt", before=1)])],
        "First": [Reply(text="six")],
        "Rather": [Reply(text="seven"), Reply(text="eight")],
        "Fail": [Reply(failure=Failure(code="AccessDeniedException"))],
    }.items():
        await model.script(*replies, last_user_contains=f"{question}, {word}", kind="answer")
    await node_client.run("page.mjs", product, people.someone(), word=word, chromium=chromium)


async def test_one_thread_in_two_tabs_of_a_browser(product, people, model, npm_clients, chromium, word):
    gate = Wait(gate=f"{word}-first", before=1)
    await model.script(Reply(text="one two", waits=[gate]), last_user_contains=f"Mine, {word}", kind="answer")
    await model.script(Reply(text="three"), last_user_contains=f"Yours, {word}", kind="answer")
    await node_client.run("tabs.mjs", product, people.someone(), word=word, chromium=chromium)


async def test_an_agent_that_asks_back_in_a_browser(asking_product, people, model, npm_clients, chromium, word):
    await model.script(ASKS, Reply(text="Booked."), contains=word, kind="answer")
    await node_client.run("asking.mjs", asking_product, people.someone(), word=word, chromium=chromium)


async def test_an_agent_that_asks_back_over_the_sdk(asking_product, people, model, thread, word):
    await model.script(ASKS, Reply(text="Booked."), contains=word, kind="answer")
    person = people.someone(at=asking_product)

    asked = [part async for part in person.stream(thread, f"Book, {word}", stream_mode="values")]
    row, state = await person.sdk.threads.get(thread), await person.sdk.threads.get_state(thread)
    answered = await person.sdk.runs.wait(thread, "agent", command={"resume": "Monday"})

    (question,) = [each for task in state["tasks"] for each in task["interrupts"]]
    assert question["value"] == {"question": "Which day?"}
    assert events_of(asked, "values")[-1].data["__interrupt__"] == [question]
    assert row["status"] == "interrupted"
    said = [content_text(message["content"]) for message in answered["messages"]]
    assert said == [f"Book, {word}", "Let me ask.", "The user says: Monday", "Booked."]


async def test_the_vercel_transport(product, people, model, npm_clients, word):
    for question, replies in {
        "Count": [Reply(text="one two", waits=[Wait(gate=f"{word}-first", before=1)])],
        "And then": [Reply(text="three")],
        "Fail": [Reply(failure=Failure(code="AccessDeniedException"))],
        "Mine": [Reply(text="four")],
        "Yours": [Reply(text="five")],
    }.items():
        await model.script(*replies, last_user_contains=f"{question}, {word}", kind="answer")
    await node_client.run("vercel.mjs", product, people.someone(), word=word)

    second, last = [
        user_texts(request)
        for request in await model.answers(word)
        if any(f"{question}, {word}" in user_texts(request)[-1] for question in ("And then", "Yours"))
    ]
    assert second == [f"Count, {word}", f"And then, {word}?"]
    assert last == [f"Mine, {word}", f"Yours, {word}"]


async def test_the_agui_client_with_its_verifier(product, people, model, npm_clients, word):
    for question, replies in {
        "Count": [Reply(text="one two", waits=[Wait(gate=f"{word}-first", before=1)])],
        "And then": [Reply(text="three"), Reply(text="four")],
        "Fail": [Reply(failure=Failure(code="AccessDeniedException"))],
    }.items():
        await model.script(*replies, last_user_contains=f"{question}, {word}", kind="answer")
    await node_client.run("agui.mjs", product, people.someone(), word=word)


async def test_the_graph_as_a_remote_graph(people, model, thread, word):
    await model.script(Reply(text="one two"), Reply(text="three"), last_user_contains=word, kind="answer")
    person = people.someone()
    await person.sdk.threads.create(thread_id=thread)
    graph = RemoteGraph("agent", client=person.sdk)
    config = {"configurable": {"thread_id": thread}}

    tokens = [
        chunk["content"] if isinstance(chunk, dict) else chunk.content
        async for chunk, _ in graph.astream(
            {"messages": [{"role": "user", "content": f"Count, {word}"}]}, config, stream_mode="messages"
        )
    ]
    values = await graph.ainvoke({"messages": [{"role": "user", "content": f"And then, {word}?"}]}, config)

    assert "".join(content_text(token) for token in tokens) == "one two"
    said = [content_text(message["content"]) for message in values["messages"]]
    assert said == [f"Count, {word}", "one two", f"And then, {word}?", "three"]
    state = await graph.aget_state(config)
    assert [content_text(message["content"]) for message in state.values["messages"]] == said
    assert [len(each.values["messages"]) async for each in graph.aget_state_history(config)] == [4, 2, 0]
    assert "trigger_background_agent" in (await graph.aget_graph()).nodes
