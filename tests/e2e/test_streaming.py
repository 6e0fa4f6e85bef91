"""Tokens arrive while the model still speaks, and a turn ends well whoever has left."""

from local.model.script import Failure, Reply, Wait
from tests.e2e.people import content_text
from tests.e2e.waiting import until


async def test_first_token_is_read_before_the_second_is_made(people, model, thread, word):
    # A reply that is buffered anywhere never shows its first token, so the gate would never open.
    await model.script(Reply(text="one two", waits=[Wait(gate=word, before=1)]), last_user_contains=word, kind="answer")
    read: list[str] = []
    async for part in people.someone().stream(thread, f"Count, {word}"):
        text = content_text(part.data[0]["content"]) if part.event == "messages" else ""
        if text:
            read.append(text)
            await model.open(word)
    assert read == ["one ", "two"]


async def test_client_that_leaves_in_the_middle_still_gets_its_turn_stored_and_announced(
    people, model, turn_ends, thread, word
):
    reply = Reply(text="one two three", waits=[Wait(gate=word, before=1)])
    await model.script(reply, last_user_contains=word, kind="answer")
    person = people.someone()
    body = {
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": f"Count, {word}"}]},
        "stream_mode": ["messages-tuple"],
        "if_not_exists": "create",
        "on_disconnect": "cancel",
    }
    async with person.http.stream("POST", f"/threads/{thread}/runs/stream", json=body) as response:
        async for line in response.aiter_lines():
            if '"one ' in line:
                break
    await model.open(word)

    async def answered() -> bool:
        messages = await person.messages(thread)
        return bool(messages) and messages[-1]["type"] == "ai"

    await until(answered, "the answer in the thread")
    said = [(message["type"], content_text(message["content"])) for message in await person.messages(thread)]
    assert said == [("human", f"Count, {word}"), ("ai", "one two three")]
    (end,) = await turn_ends.reach(thread, 1)
    assert (end["user_id"], end["outcome"], end["human_count"]) == (person.user_id, "completed", 1)
    # One more turn: its own end comes after whatever the first run had yet to say.
    await person.say(thread, "And now?")
    assert len(await turn_ends.reach(thread, 2)) == 2


async def test_message_id_in_the_stream_is_the_id_in_the_state(people, model, thread, word):
    await model.script(Reply(text="one two"), last_user_contains=word, kind="answer")
    person = people.someone()
    streamed = {
        part.data[0]["id"]
        async for part in person.stream(thread, f"Count, {word}")
        if part.event == "messages" and content_text(part.data[0]["content"])
    }
    assert streamed == {(await person.messages(thread))[-1]["id"]}


async def test_model_that_fails_is_told_in_the_stream_and_the_thread_goes_on(people, model, thread, word):
    refusal = Reply(failure=Failure(code="AccessDeniedException", message=f"secret-{word}"))
    await model.script(refusal, Reply(text="fine"), last_user_contains=word, kind="answer")
    person = people.someone()
    parts = [part async for part in person.stream(thread, f"First, {word}")]
    (error,) = [part.data for part in parts if part.event == "error"]
    assert f"secret-{word}" not in str(error)
    assert "Traceback" not in str(parts)
    assert await person.say(thread, f"Again, {word}") == "fine"
    said = [content_text(message["content"]) for message in await person.messages(thread)]
    assert said == [f"First, {word}", f"Again, {word}", "fine"]


async def test_model_that_breaks_off_is_told_in_the_stream(people, model, thread, word):
    await model.script(Reply(text="one two", failure=Failure(before=1)), last_user_contains=word, kind="answer")
    parts = [part async for part in people.someone().stream(thread, f"Count, {word}")]
    assert [part.event for part in parts].count("error") == 1


async def test_throttled_before_the_first_token_is_tried_again(people, model, thread, word):
    throttled = Reply(failure=Failure(code="ThrottlingException"))
    await model.script(throttled, Reply(text="fine"), last_user_contains=word, kind="answer")
    assert await people.someone().say(thread, f"Hello, {word}") == "fine"
