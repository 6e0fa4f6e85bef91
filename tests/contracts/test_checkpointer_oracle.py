"""Whatever is put into it, the saver gives what LangGraph's own in-memory saver gives."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from shared.adapters.dynamodb.checkpointer import composing, layout
from tests.fakes.checkpointers import checkpoint_of, config_of, saver_on
from tests.fakes.dynamodb import mocked_dynamodb

EDITS = ("append", "append_many", "remove", "replace", "change_in_place", "clear", "reverse", "repeat")
STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "edit": st.sampled_from(EDITS),
            "size": st.sampled_from([3, 30, 3_000]),
            "place": st.integers(0, 50),
            "others": st.sets(st.sampled_from(["title", "facts", "gone"])),
            "from": st.sampled_from(["head"] * 9 + ["older"]),
            "process": st.sampled_from(["same"] * 4 + ["new"]),
            "writes": st.integers(0, 2),
        }
    ),
    min_size=1,
    max_size=32,
)


def edited(messages: list[Any], step: dict[str, Any], number: int) -> list[Any]:
    place = step["place"] % len(messages) if messages else 0
    message = HumanMessage(f"{number} " + "x" * step["size"], id=f"m{number}")
    match step["edit"]:
        case "append_many":
            return [*messages, message, AIMessage(f"answer {number}", id=f"a{number}")]
        case "remove" if messages:
            return messages[:place] + messages[place + 1 :]
        case "replace" if messages:
            return [*messages[:place], message, *messages[place + 1 :]]
        case "change_in_place" if messages:
            messages[place].content = f"changed by {number}"
            return messages
        case "clear":
            return [message]
        case "reverse":
            return messages[::-1]
        case "repeat":
            return messages + messages[-2:]
        case _:
            return [*messages, message]


@settings(max_examples=6, deadline=None)
@given(steps=STEPS)
def test_a_history_of_edits_reads_as_from_the_in_memory_saver(steps):
    # A table for each example: the mock reads all of it for every query.
    with mocked_dynamodb() as client:
        check(client, steps)


@settings(max_examples=6, deadline=None)
@given(steps=STEPS)
def test_it_does_so_with_segments_and_bases_at_every_turn(steps):
    with mocked_dynamodb() as client, pytest.MonkeyPatch.context() as patched:
        patched.setattr(composing, "_LONGEST_LINE", 3)
        patched.setattr(composing, "_LOOSE_IN_BASE", 200)
        patched.setattr(composing, "_SEGMENT_BYTES", 4_000)
        patched.setattr(composing, "_WHOLE_INLINE", 5)
        patched.setattr(layout, "_MOST_PIECES", 4)
        check(client, steps)


def check(client, steps):
    thread = str(uuid6())
    oracle, saver = InMemorySaver(), saver_on(client)
    stored: list[str] = []
    states: dict[str, dict[str, Any]] = {}
    for number, step in enumerate(steps):
        parent = None
        if stored:
            parent = stored[-1] if step["from"] == "head" else stored[step["place"] % len(stored)]
        before = states.get(parent or "", {"values": {}, "versions": {}})
        if step["process"] == "new":
            saver = saver_on(client)
        values = copy.deepcopy(before["values"])
        values["messages"] = edited(values.get("messages", []), step, number)
        changed = {"messages"}
        for name in step["others"]:
            changed.add(name)
            if name == "gone":
                values.pop("gone", None) if "gone" in values else values.update(gone=number)
            else:
                values[name] = {"title": f"title {number}", "facts": {"a": 1.5, "b": {number, 2}}}[name]
        versions = dict(before["versions"]) | dict.fromkeys(changed, number + 1)
        checkpoint = checkpoint_of(values, versions, number)
        new_versions = {name: versions[name] for name in changed}
        metadata = {"source": "loop", "step": number, "parity": number % 2}
        for each in (oracle, saver):
            config = config_of(thread, parent)
            kept = each.put(config, copy.deepcopy(checkpoint), dict(metadata), dict(new_versions))
            for task in range(step["writes"]):
                each.put_writes(kept, [("messages", f"w{task}"), ("title", task)], f"task{9 - task}", f"~{task}")
        stored.append(checkpoint["id"])
        states[checkpoint["id"]] = {"values": values, "versions": versions}

    for reader in (saver, saver_on(client)):
        assert_same(reader, oracle, config_of(thread))
        for checkpoint in stored[:: max(1, len(stored) // 5)]:
            assert_same(reader, oracle, config_of(thread, checkpoint))
    assert_same_lists(saver_on(client), oracle, thread, stored)


def assert_same(saver, oracle, config):
    found, expected = saver.get_tuple(config), oracle.get_tuple(config)
    assert found == expected


def assert_same_lists(saver, oracle, thread, stored):
    config = config_of(thread)
    assert list(saver.list(config)) == list(oracle.list(config))
    middle = config_of(thread, stored[len(stored) // 2])
    for options in (
        {"limit": 3},
        {"before": middle},
        {"before": middle, "limit": 2},
        {"filter": {"parity": 1}},
        {"filter": {"parity": 0, "source": "loop"}, "before": middle, "limit": 1},
        {"filter": {"step": -5}},
    ):
        assert list(saver.list(config, **options)) == list(oracle.list(config, **options))
