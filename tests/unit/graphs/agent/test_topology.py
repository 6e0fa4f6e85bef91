from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from shared.graphs.agent.agents import all_agents, enabled_agents
from shared.graphs.agent.topology import build
from shared.graphs.description import schemas_of
from tests.fakes.agent_turns import Turns, chat_settings
from tests.fakes.chat_model import ScriptedChatModel, routed_to

ALL = ("chat", "weather", "crypto", "code")


def edges(turns: Turns) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in turns.graph.get_graph().edges}


def test_the_graph_is_the_seeds() -> None:
    """G03, G06; shortening is taken only by threads that were made to be short, kb_agent by turns with files."""
    agents = {f"{name}_agent" for name in ALL}

    assert edges(Turns(settings=chat_settings(agents=ALL))) == {
        ("__start__", "router"),
        ("__start__", "kb_agent"),
        ("kb_agent", "router"),
        *(("router", agent) for agent in agents),
        ("router", "rename_thread"),
        ("router", "shorten_thread"),
        *((agent, "trigger_background_agent") for agent in agents),
        ("trigger_background_agent", "__end__"),
        ("rename_thread", "__end__"),
        ("shorten_thread", "__end__"),
    }


def test_with_one_agent_there_is_no_router() -> None:
    """Decision 11."""
    assert edges(Turns(settings=chat_settings(agents=("code",)))) == {
        ("__start__", "code_agent"),
        ("__start__", "rename_thread"),
        ("__start__", "shorten_thread"),
        ("__start__", "kb_agent"),
        ("kb_agent", "code_agent"),
        ("kb_agent", "rename_thread"),
        ("kb_agent", "shorten_thread"),
        ("code_agent", "trigger_background_agent"),
        ("trigger_background_agent", "__end__"),
        ("rename_thread", "__end__"),
        ("shorten_thread", "__end__"),
    }


def test_what_the_graph_takes_gives_and_holds_can_be_described() -> None:
    described = schemas_of(Turns().graph)

    assert "messages" in described["input_schema"]["properties"]
    assert described["state_schema"]["$defs"]["Routing"]["required"] == ["agent", "source", "matchedKey"]


async def test_with_one_agent_the_fast_model_only_names_the_thread() -> None:
    turns = Turns(chat=ScriptedChatModel("Hello"), fast=ScriptedChatModel("Greeting"))

    await (await turns.thread()).say("Hi")

    assert len(turns.fast.requests) == 1


def test_every_module_of_the_package_is_an_agent() -> None:
    assert set(all_agents()) == set(ALL)
    for name, spec in all_agents().items():
        assert (spec.name, spec.node) == (name, f"{name}_agent")
        assert spec.prompt.strip()
        assert spec.description.strip()


@pytest.mark.parametrize(
    ("names", "reason"),
    [(("chat", "poet"), "No such agents: poet"), ((), "No agent"), (("weather", "code"), "chat must be one")],
)
def test_settings_that_leave_turns_unanswered_fail_at_start(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        enabled_agents(names)


def test_agents_are_enabled_in_the_order_of_the_settings() -> None:
    assert [spec.name for spec in enabled_agents(("code", "chat", "code"))] == ["code", "chat"]


async def test_one_compiled_graph_serves_runs_with_checkpointers_of_their_own() -> None:
    """G27: the copy has the run's saver and store; the shared one has none."""
    turns = Turns(chat=ScriptedChatModel("one", "two"))
    store = InMemoryStore()
    mine, theirs = await turns.thread(), await turns.thread()
    await mine.say("Hi")
    await theirs.say("Hi")

    run = turns.graph.copy(update={"checkpointer": turns.saver, "store": store})

    assert (run.checkpointer, run.store) == (turns.saver, store)
    assert (turns.graph.checkpointer, turns.graph.store) == (None, None)
    assert [message.text for message in await mine.messages()] == ["Hi", "one"]
    assert [message.text for message in await theirs.messages()] == ["Hi", "two"]


async def test_sub_agents_keep_no_checkpoint_of_their_own() -> None:
    """G28: the second turn is made from the thread's messages; the only namespace is the thread's."""
    turns = Turns(chat=ScriptedChatModel("one", "two"))
    thread = await turns.thread()
    await thread.say("First")
    await thread.say("Second")

    namespaces = {each.config["configurable"]["checkpoint_ns"] for each in turns.saver.list(None)}

    assert namespaces == {""}
    assert [message.text for message in turns.chat.requests[1].history] == ["First", "one", "Second"]


async def test_state_holds_messages_and_the_decision_and_nothing_of_the_run() -> None:
    turns = Turns(
        chat=ScriptedChatModel("Hello"),
        fast=ScriptedChatModel(routed_to("chat"), "Title"),
        settings=chat_settings(agents=ALL),
    )
    thread = await turns.thread()
    await thread.say("Hi")

    state = await thread.state()

    assert set(state) == {"messages", "routing"}
    (checkpoint,) = [each for each in turns.saver.list(None) if each.metadata["source"] == "loop"]
    assert _kinds(checkpoint.checkpoint["channel_values"]) <= {str, HumanMessage, AIMessage, type(None)}


def _kinds(value: Any) -> set[type]:
    if isinstance(value, dict):
        return set().union(*(_kinds(each) for each in value.values()))
    if isinstance(value, list | tuple):
        return set().union(*(_kinds(each) for each in value))
    return {type(value)}


async def test_human_messages_have_ids_before_anything_else_happens() -> None:
    """Decision 2, HID-10."""
    turns = Turns(chat=ScriptedChatModel("Hello"))
    thread = await turns.thread()

    messages = await thread.say(HumanMessage("Hi"))

    assert messages[0].id
    assert turns.chat.requests[0].history[0].id == messages[0].id
    assert thread.mark.human_message_id == messages[0].id


def test_a_second_graph_can_be_built_from_the_same_deps() -> None:
    turns = Turns()

    assert build(turns.deps) is not build(turns.deps)


@pytest.mark.parametrize("name", ALL)
async def test_no_agent_has_a_tool_that_deletes(name: str) -> None:
    """DL09: what is remembered of them is for users to delete, and for the model to patch."""
    turns = Turns(chat=ScriptedChatModel("Hello"), settings=chat_settings(agents=(name,)))

    await (await turns.thread()).say("Hi")

    (asked,) = turns.chat.requests
    assert {"save_memory", "lookup_thread_messages"} <= set(asked.tools)
    assert not [tool for tool in asked.tools if any(word in tool for word in ("delete", "forget", "remove", "purge"))]
