"""Naming a thread after its first question. It never holds up the answer: it runs beside it and gives up in time."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from shared.domain.counters import RENAME_FAILED
from shared.domain.ids import ThreadId, UserId
from shared.domain.kb.mentions import readable
from shared.domain.threads import DEFAULT_TITLE, MODEL_TITLE_MAX_CHARS
from shared.domain.turns import text_of
from shared.graphs.agent.deps import AgentDeps
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.prompts import RENAME_PROMPT
from shared.graphs.agent.state import AgentState, Node

QUESTION_MAX_CHARS: Final = 2_000
"""How much of the question the title is made from."""

_QUOTES: Final = "\"'“”„‘’«»「」『』`*#"

_log = logging.getLogger(__name__)


def rename_thread_node(deps: AgentDeps) -> Node[AgentState]:
    """Make the node.

    "First turn" means that the title is still the default one, so a name that could not be found is looked for again
    in the next turn, and one that the user gave is never overwritten.
    """

    async def rename(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        envelope = Envelope.of(config)
        question = first_question(state["messages"])
        if envelope.user is not None and envelope.thread is not None and question:
            try:
                async with asyncio.timeout(deps.settings.rename_seconds):
                    await name(envelope.user, envelope.thread, envelope.title, question, config)
            except Exception:  # noqa: BLE001 - a thread without a name is no reason to fail the turn
                deps.metrics.count(RENAME_FAILED)
                _log.warning("rename failed", exc_info=True)
        return {}

    async def name(user: UserId, thread: ThreadId, known: str | None, question: str, config: RunnableConfig) -> None:
        present = known if known is not None else (await deps.threads.get(user, thread)).title
        if present != DEFAULT_TITLE:
            return
        silent: RunnableConfig = {**config, "tags": [*config.get("tags", []), TAG_NOSTREAM]}
        answer = await deps.models.fast.ainvoke([SystemMessage(RENAME_PROMPT), HumanMessage(question)], silent)
        title = tidy_title(text_of(answer.content))
        if title:
            await deps.threads.rename(user, thread, title, only_default=True)

    return rename


def first_question(messages: Sequence[AnyMessage]) -> str:
    """Give the text of the first human message, without its files and pictures, cut to what a title needs."""
    first = next((message for message in messages if isinstance(message, HumanMessage)), None)
    if first is None:
        return ""
    parts = first.content if isinstance(first.content, list) else [first.content]
    texts = [part if isinstance(part, str) else part.get("text", "") for part in parts]
    said = "\n".join(text for text in texts if isinstance(text, str) and text.strip())
    return readable(said)[:QUESTION_MAX_CHARS].strip()


def tidy_title(answer: str) -> str:
    """Make a title of what a model replied: its first line, without quotation marks, cut; empty if nothing is left."""
    first_line = next((line for line in answer.splitlines() if line.strip()), "")
    return " ".join(first_line.split()).strip(_QUOTES + " ")[:MODEL_TITLE_MAX_CHARS].rstrip()
