"""Old turns become summaries: once, off the chat, from what the thread is, and for good."""

import asyncio
import json

import pytest

from local.model.script import Reply, ScriptedCall, Wait
from tests.e2e.conftest import BUFFER_TURNS, KEEP_RECENT
from tests.e2e.model import system_text, user_texts
from tests.e2e.waiting import until

assert (KEEP_RECENT, BUFFER_TURNS) == (3, 1)


def summary(first: int, last: int, text: str) -> Reply:
    entry = {"question": f"question {text}", "answer": f"answer {text}", "refs": [f"#{first}-#{last}"]}
    return Reply(structured={"entries": [entry]})


async def turns(person, thread, word, first, last) -> None:
    for number in range(first, last + 1):
        await person.say(thread, f"turn {number} {word}")


async def test_k_turns_make_one_summary_and_later_turns_send_it_instead_of_them(people, model, thread, word):
    person = people.someone()
    await model.script(summary(1, 3, word), contains=word, field="entries")
    await turns(person, thread, word, 1, 3)
    (entry,) = await person.passes_reach(thread, 1)
    assert (entry["startMessageIndex"], entry["endMessageIndex"], entry["messageCount"]) == (0, 2, 3)
    (asked,) = await model.summaries(word)
    lines = [json.loads(line) for line in user_texts(asked)[-1].splitlines() if line.startswith("{")]
    assert [line["id"] for line in lines] == ["#1", "#2", "#3"]

    await person.say(thread, f"turn 4 {word}")
    sent = (await model.answers(f"turn 4 {word}"))[-1]
    assert user_texts(sent) == [f"turn 3 {word}", f"turn 4 {word}"]
    assert "<earlier_conversation>" in system_text(sent)
    assert f"answer {word}" in system_text(sent)
    # The thread itself keeps every turn (TT09).
    humans = [message for message in await person.messages(thread) if message["type"] == "human"]
    assert len(humans) == 4


async def test_summarised_turn_can_be_looked_up_word_for_word(people, model, thread, word):
    person = people.someone()
    await model.script(summary(1, 3, word), contains=word, field="entries")
    await turns(person, thread, word, 1, 3)
    await person.passes_reach(thread, 1)
    call = ScriptedCall(name="lookup_thread_messages", arguments={"refs": "#1"})
    question = f"What was first, {word}?"
    await model.script(Reply(tool_calls=[call]), Reply(text="That."), last_user_contains=question, kind="answer")
    assert await person.say(thread, question) == "That."
    sent = (await model.answers(question))[-1]
    assert f"turn 1 {word}" not in user_texts(sent)
    (result,) = [block["toolResult"] for block in sent["messages"][-1]["content"] if "toolResult" in block]
    found = json.loads(result["content"][0]["text"])
    assert (found["ok"], found["matchCount"]) == (True, 1)
    assert found["turns"][0]["ref"] == "#1"
    assert found["turns"][0]["messages"][0] == {"role": "user", "content": f"turn 1 {word}"}


async def test_deleted_summaries_heal_with_the_next_window(people, model, thread, word):
    person = people.someone()
    await model.script(summary(1, 3, "old"), summary(1, 3, "new"), contains=word, field="entries")
    await turns(person, thread, word, 1, 3)
    await person.passes_reach(thread, 1)
    deleted = await person.http.delete(f"/api/memory/threads/{thread}")
    assert deleted.json() == {"ok": True, "deletedCount": 1}
    assert await person.passes(thread) == []
    await person.say(thread, f"turn 4 {word}")
    sent = (await model.answers(f"turn 4 {word}"))[-1]
    assert user_texts(sent) == [f"turn {number} {word}" for number in (1, 2, 3, 4)]
    assert "<earlier_conversation>" not in system_text(sent)
    (entry,) = await person.passes_reach(thread, 1)
    assert (entry["sequence"], entry["startMessageIndex"], entry["endMessageIndex"]) == (1, 0, 2)
    assert entry["summary"]["entries"][0]["answer"] == "answer new"


@pytest.mark.parametrize("at_once", [False, True], ids=["one after another", "at once"])
async def test_turn_end_announced_three_times_makes_one_summary(
    people, model, turn_ends, functions, thread, word, at_once
):
    person = people.someone()
    gated = summary(1, 3, word).model_copy(update={"waits": [Wait(gate=word)]})
    await model.script(gated, summary(1, 3, "again"), contains=word, field="entries", repeat=True)
    await turns(person, thread, word, 1, 3)
    end = (await turn_ends.reach(thread, 3))[-1]
    await model.someone_waits(word)
    before = functions.runs("SummarizeFunction")
    if at_once:
        # While the first pass holds the window.
        await asyncio.gather(*(asyncio.to_thread(turn_ends.send, end) for _ in range(3)))
        await functions.runs_reach("SummarizeFunction", before + 3)
        await model.open(word)
        await person.passes_reach(thread, 1)
    else:
        await model.open(word)
        await person.passes_reach(thread, 1)
        await functions.runs_reach("SummarizeFunction", before + 1)
        for count in range(1, 4):
            await asyncio.to_thread(turn_ends.send, end)
            await functions.runs_reach("SummarizeFunction", before + 1 + count)
    (entry,) = await person.passes(thread)
    assert entry["summary"]["entries"][0]["answer"] == f"answer {word}"
    assert len(await model.summaries(word)) == 1


async def test_thread_deleted_during_its_summary_pass_stays_deleted(people, model, product, functions, thread, word):
    person = people.someone()
    gated = summary(1, 3, word).model_copy(update={"waits": [Wait(gate=word)]})
    await model.script(gated, contains=word, field="entries")
    await turns(person, thread, word, 1, 3)
    await model.someone_waits(word)
    before = functions.runs("SummarizeFunction")
    assert (await person.http.delete(f"/threads/{thread}")).status_code == 204
    assert (await person.http.get(f"/threads/{thread}")).status_code == 404
    await model.open(word)
    await functions.runs_reach("SummarizeFunction", before + 1)
    dynamodb = product.address.client("dynamodb")

    def rows() -> list[dict]:
        """Every row of either table that has to do with the thread."""
        tables = (product.deployment.outputs[name] for name in ("MemoryTable", "CheckpointTable"))
        scanned = [row for table in tables for row in dynamodb.scan(TableName=table, ConsistentRead=True)["Items"]]
        return [row for row in scanned if thread in str(row)]

    async def only_tombstones_are_left() -> bool:
        left = rows()
        return any("buried_at" in row for row in left) and all("ttl" in row for row in left)

    try:
        await until(only_tombstones_are_left, "the end of the purge")
        assert word not in str(rows())
        assert len(rows()) <= 2
    finally:
        dynamodb.close()
    assert await person.passes(thread) == []
    assert (await person.http.get(f"/threads/{thread}")).status_code == 404
    # The id is not used again.
    again = await person.http.post("/threads", json={"thread_id": thread})
    assert again.status_code == 409
