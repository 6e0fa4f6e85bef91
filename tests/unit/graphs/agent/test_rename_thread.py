import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from shared.domain.counters import RENAME_FAILED
from shared.domain.errors import ModelThrottledError, StoreError
from shared.domain.threads import DEFAULT_TITLE
from shared.graphs.agent.nodes.rename_thread import first_question, tidy_title
from tests.fakes.agent_turns import USER, Thread, Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel


async def title_of(thread: Thread) -> str:
    return (await thread.turns.threads.get(thread.user, thread.id)).title


async def test_the_first_turn_names_the_thread_and_the_second_does_not() -> None:
    """G06."""
    turns = Turns(fast=ScriptedChatModel("Trip to Lisbon", "Another name"))
    thread = await turns.thread()

    await thread.say("Plan a trip to Lisbon")
    await thread.say("And hotels")

    assert await title_of(thread) == "Trip to Lisbon"
    assert len(turns.fast.requests) == 1
    assert [message.content for message in turns.fast.requests[0].history] == ["Plan a trip to Lisbon"]


@pytest.mark.parametrize("failure", [ModelThrottledError("busy"), RuntimeError("a bug"), "", "  \n "])
async def test_a_name_that_was_not_found_is_looked_for_again(failure: Exception | str) -> None:
    """G07, G08."""
    turns = Turns(fast=ScriptedChatModel(failure, "Found at last"))
    thread = await turns.thread()

    assert (await thread.say("First question"))[-1].text == "ok"
    assert await title_of(thread) == DEFAULT_TITLE
    assert turns.threads.calls["rename"] == 0
    await thread.say("Second question")

    assert await title_of(thread) == "Found at last"
    assert turns.fast.requests[1].history[0].content == "First question"


async def test_a_name_the_user_gave_in_the_meantime_stays() -> None:
    turns = Turns()
    thread = await turns.thread()

    async def user_is_faster(_place: int) -> None:
        await turns.threads.rename(USER, thread.id, "My own name")

    turns.fast._script.append(Say("Model's name", before_token=user_is_faster))

    await thread.say("Hello")

    assert await title_of(thread) == "My own name"


async def test_words_of_the_title_are_not_streamed() -> None:
    """G10."""
    turns = Turns(chat=ScriptedChatModel("Hello there"), fast=ScriptedChatModel("Secret title"))
    thread = await turns.thread()

    streamed = [message.text async for _, _, (message, _) in thread.stream("Hi")]

    assert "".join(streamed) == "Hello there"
    assert await title_of(thread) == "Secret title"


async def test_a_rename_that_hangs_lets_words_flow_and_the_turn_end() -> None:
    """Decision 9c: the model is still naming when the words arrive; the limit then ends it."""
    naming = asyncio.Event()

    async def for_ever(_place: int) -> None:
        naming.set()
        await asyncio.Event().wait()

    async def once_naming_has_begun(_place: int) -> None:
        await naming.wait()

    turns = Turns(
        chat=ScriptedChatModel(Say("Hello there", before_token=once_naming_has_begun)),
        fast=ScriptedChatModel(Say("never", before_token=for_ever)),
        settings=chat_settings(agents=("chat",), rename_seconds=0.05),
    )
    thread = await turns.thread()

    words = [message.text async for _, _, (message, _) in thread.stream("Hi")]

    assert "".join(words) == "Hello there"
    assert thread.mark.ended
    assert await title_of(thread) == DEFAULT_TITLE
    assert turns.metrics.counts[RENAME_FAILED] == 1


async def test_a_database_that_fails_fails_no_turn() -> None:
    """HID-30."""
    turns = Turns(fast=ScriptedChatModel("A title"))
    thread = await turns.thread()
    turns.threads.failures["rename"] = StoreError("down")

    assert (await thread.say("Hi"))[-1].text == "ok"
    assert thread.mark.ended


async def test_without_a_title_from_the_runner_the_row_is_read() -> None:
    turns = Turns(fast=ScriptedChatModel("A title"))
    thread = await turns.thread(title="Named already")

    await thread.graph.ainvoke(
        {"messages": [HumanMessage("Hi")]}, {"configurable": {"userId": USER, "thread_id": thread.id}}
    )

    assert not turns.fast.requests


@pytest.mark.parametrize("missing", ["userId", "thread_id"])
async def test_without_user_or_thread_nothing_is_named(missing: str) -> None:
    """G08."""
    turns = Turns()
    thread = await turns.thread()
    configurable = {"userId": USER, "thread_id": thread.id}
    del configurable[missing]

    await turns.graph.ainvoke({"messages": [HumanMessage("Hi")]}, {"configurable": configurable})

    assert not turns.fast.requests
    assert not turns.threads.calls["rename"]


def test_the_question_is_the_first_human_messages_text_without_files() -> None:
    """G08, G11."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    file = {"type": "file", "file": {"filename": "tax.pdf", "file_data": "AAAA"}}

    assert first_question([AIMessage("Welcome"), HumanMessage("First"), HumanMessage("Second")]) == "First"
    assert first_question([HumanMessage([{"type": "text", "text": "Sum this up"}, file, picture])]) == "Sum this up"
    assert first_question([HumanMessage([file])]) == ""
    assert first_question([AIMessage("Welcome")]) == ""
    assert len(first_question([HumanMessage("x" * 10_000)])) == 2_000


async def test_without_a_question_no_model_is_asked() -> None:
    """G08."""
    turns = Turns()
    thread = await turns.thread()

    await thread.say(HumanMessage([{"type": "file", "file": {"filename": "tax.pdf", "file_data": "AAAA"}}]))

    assert not turns.fast.requests


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("  Trip to Lisbon \n", "Trip to Lisbon"),
        ('"Trip to Lisbon"', "Trip to Lisbon"),
        ("\n\n# Trip  to\tLisbon\nAnd more", "Trip to Lisbon"),
        ("A title that is far too long to be shown", "A title that is far too long t"),
        (
            "旅行の計画を立てるためのとても長いタイトルですのでここで切られるべきです",
            "旅行の計画を立てるためのとても長いタイトルですのでここで切ら",
        ),
        ("thirty characters, one space x y", "thirty characters, one space x"),
        ("   ", ""),
        ('""', ""),
    ],
)
def test_what_the_model_says_is_made_a_title(answer: str, title: str) -> None:
    """G08, G09: stripped, then cut to 30 characters."""
    assert tidy_title(answer) == title
    assert len(tidy_title(answer)) <= 30
