"""Keeping a thread short by taking its oldest turns out of it, for those who asked for that when they made it.

It runs beside the agent, which still answers from the whole thread: nobody's answer waits for a summary.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import HumanMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from shared.domain.counters import SHORTEN_FAILED
from shared.domain.errors import ModelError
from shared.domain.shortening import turns_to_lose
from shared.domain.turns import Turn, text_of, transcript, turns_of
from shared.graphs.agent.deps import AgentDeps
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.prompts import RUNNING_SUMMARY_PROMPT
from shared.graphs.agent.state import AgentState, Node

MESSAGE_MAX_CHARS: Final = 4_000
"""How much of one message goes into a running summary's transcript."""

RUNNING_SUMMARY_MAX_CHARS: Final = 8_000
"""What a running summary may hold, whatever the model says: it is sent with every call."""

_log = logging.getLogger(__name__)


def shorten_thread_node(deps: AgentDeps) -> Node[AgentState]:
    """Make the node: ``delete`` drops turns, ``running_summary`` takes them into the text that stands for them.

    What cannot be summarised stays in the thread, and the next turn tries again.
    """

    async def shorten(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        old = turns_to_lose(
            turns_of(state["messages"]),
            keep_recent=deps.settings.memory_thread_summary_keep_recent,
            buffer_turns=deps.settings.memory_thread_messages_buffer_recent_turns,
        )
        if not old:
            return {}
        match Envelope.of(config).policy:
            case "delete":
                return {"messages": _removals(old)}
            case "running_summary":
                return await retell(state.get("running_summary", ""), old, config)
            case "summaries" | "trim":
                return {}

    async def retell(earlier: str, old: Sequence[Turn], config: RunnableConfig) -> dict[str, Any]:
        try:
            async with asyncio.timeout(deps.settings.running_summary_seconds):
                extended = await extend(earlier, old, config)
        except Exception:  # noqa: BLE001 - a thread that stays long is no reason to fail the turn
            deps.metrics.count(SHORTEN_FAILED)
            _log.warning("running summary failed", exc_info=True)
            return {}
        return {"running_summary": extended, "messages": _removals(old)}

    async def extend(earlier: str, old: Sequence[Turn], config: RunnableConfig) -> str:
        silent: RunnableConfig = {**config, "tags": [*config.get("tags", []), TAG_NOSTREAM]}
        answer = await deps.models.fast.ainvoke(
            [SystemMessage(RUNNING_SUMMARY_PROMPT), HumanMessage(_to_retell(earlier, old))], silent
        )
        extended = text_of(answer.content).strip()[:RUNNING_SUMMARY_MAX_CHARS]
        if not extended:
            raise ModelError("The model gave no summary.")
        return extended

    return shorten


def _to_retell(earlier: str, old: Sequence[Turn]) -> str:
    said = f"Turns, one JSON line each:\n{transcript(old, char_limit=MESSAGE_MAX_CHARS)}"
    return f"The summary so far:\n{earlier}\n\n{said}" if earlier else said


def _removals(turns: Sequence[Turn]) -> list[RemoveMessage]:
    return [RemoveMessage(id=message.id) for turn in turns for message in turn.messages if message.id is not None]
