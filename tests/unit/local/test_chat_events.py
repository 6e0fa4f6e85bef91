"""The stream of a turn as the chat shows it."""

import io
import json

import pytest
from langgraph_sdk.schema import StreamPart
from rich.console import Console

from local.chat.events import (
    LookedUp,
    MemorySaved,
    Token,
    ToolAnswered,
    ToolFailed,
    ToolStarted,
    TurnFailed,
    events_of,
)
from local.chat.view import View


async def read(*parts):
    async def stream():
        yield StreamPart("metadata", {"run_id": "r"})
        for event, data in parts:
            yield StreamPart(event, data)
        yield StreamPart("end", None)

    return [event async for event in events_of(stream())]


def chunk(content, **more):
    return ("messages", [{"type": "AIMessageChunk", "content": content, "tool_call_chunks": [], **more}, {}])


def result(name, content):
    text = content if isinstance(content, str) else json.dumps(content)
    return ("messages", [{"type": "tool", "name": name, "content": text}, {}])


def shown(*events) -> str:
    console = Console(file=io.StringIO(), width=200)
    view = View(console)
    for event in events:
        view.show(event)
    view.end_turn()
    return console.file.getvalue()


async def test_tokens_come_from_strings_and_from_blocks():
    blocks = [{"type": "text", "text": "two"}, {"type": "tool_use", "name": "x"}]
    assert await read(chunk("one "), chunk(blocks), chunk("")) == [Token("one "), Token("two")]


async def test_tool_call_is_told_once_however_many_chunks_it_has():
    call = {"name": "save_memory", "id": "t1", "args": ""}
    more = {"name": None, "id": None, "args": "{}"}
    events = await read(chunk("", tool_call_chunks=[call]), chunk("", tool_call_chunks=[more]))
    assert events == [ToolStarted("save_memory")]


async def test_save_is_told_as_what_was_and_what_is():
    saved = {"ok": True, "before": {"a": 1, "b": 2}, "after": {"a": 1, "b": 3, "c": [4]}, "patches": []}
    (event,) = await read(result("save_memory", saved))
    assert isinstance(event, MemorySaved)
    assert (event.added(), event.updated(), event.removed()) == ({"c": [4]}, {"b": (2, 3)}, {})


async def test_lookup_is_told_turn_by_turn():
    turn = {"ref": "#2", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}
    (event,) = await read(result("lookup_thread_messages", {"ok": True, "turns": [turn]}))
    assert event == LookedUp((("#2", (("user", "Hi"), ("assistant", "Ho"))),))


@pytest.mark.parametrize(
    ("content", "event"),
    [
        ({"ok": False, "code": "PATCH_FAILED", "message": "no such key"}, ToolFailed("save_memory", "no such key")),
        ({"ok": False, "error": "nothing there"}, ToolFailed("save_memory", "nothing there")),
        ("broken", ToolFailed("save_memory", "broken")),
    ],
)
async def test_failed_save_is_told_with_its_reason(content, event):
    assert await read(result("save_memory", content)) == [event]


async def test_error_of_the_run_is_told():
    events = await read(chunk("one"), ("error", {"error": "MODEL_THROTTLED", "message": "Later."}))
    assert events == [Token("one"), TurnFailed("MODEL_THROTTLED", "Later.")]


async def test_other_tools_are_named():
    assert await read(result("get_weather", {"ok": True})) == [ToolAnswered("get_weather")]


def test_save_is_shown_as_a_diff_with_counts():
    text = shown(
        ToolStarted("save_memory"),
        MemorySaved({"a": "old", "b": "gone"}, {"a": "new", "c": ["x"]}),
    )
    assert text.splitlines() == [
        "saving to memory …",
        "Memory: 1 added, 1 updated, 1 removed",
        '  + c: ["x"]',
        "  ~ a: old → new",
        "  - b: gone",
    ]


def test_failure_is_shown_in_words():
    assert shown(ToolFailed("save_memory", "too large")) == "save_memory failed: too large\n"


def test_answer_begins_on_a_line_of_its_own_and_text_is_never_markup():
    text = shown(Token("one [red]"), Token("two[/red]"), ToolAnswered("get_weather"), Token("three"))
    assert text == "one [red]two[/red]\nget_weather answered\nthree\n"
