"""The router: which agent takes the turn. A keyword if one decides, else a small model, else the chat agent."""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from shared.domain.counters import ROUTER_FAILED
from shared.domain.history import trim
from shared.domain.turns import human_ids, text_of
from shared.domain.window import coverage
from shared.graphs.agent.agents import DEFAULT_AGENT
from shared.graphs.agent.deps import AgentDeps
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.prompts import router_prompt
from shared.graphs.agent.spec import AgentSpec
from shared.graphs.agent.state import AgentState, Node, Routing

TOKEN_BUDGET: Final = 4_000
"""Tokens of history that the router's model sees: enough to know what a follow-up follows up."""

_log = logging.getLogger(__name__)


def router_node(specs: Sequence[AgentSpec], deps: AgentDeps) -> Node[AgentState]:
    """Make the router's node.

    Parameters
    ----------
    specs : sequence of AgentSpec
        The enabled agents, two or more.
    deps : AgentDeps
        The fast model decides where no keyword does.
    """
    names = [spec.name for spec in specs]
    prompt = router_prompt(specs)
    model = deps.models.fast.with_structured_output(_schema(specs))

    async def decide(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        by_keyword = keyword_routing(specs, _last_question(state["messages"]))
        return {"routing": by_keyword or await ask(state["messages"], config)}

    async def ask(messages: Sequence[AnyMessage], config: RunnableConfig) -> Routing:
        try:
            async with asyncio.timeout(deps.settings.router_seconds):
                history = await _history(messages, config, deps)
                answer = await model.ainvoke([SystemMessage(prompt), *history], _silently(config))
            agent = cast("dict[str, Any]", answer)["agent"]
            if agent in names:
                return Routing(agent=agent, source="model", matchedKey=None)
            _log.warning("router picked nobody")
        except Exception:  # noqa: BLE001 - whatever the matter is, the turn must be answered
            _log.warning("router failed", exc_info=True)
        deps.metrics.count(ROUTER_FAILED)
        return Routing(agent=DEFAULT_AGENT, source="fallback", matchedKey=None)

    return decide


def keyword_routing(specs: Sequence[AgentSpec], question: str) -> Routing | None:
    """Decide by keyword: when words of exactly one agent are in the question."""
    found = [(spec.name, key) for spec in specs for key in spec.keywords if _mentions(question, key)]
    agents = {name for name, _ in found}
    if len(agents) != 1:
        return None
    name, key = max(found, key=lambda pair: len(pair[1]))
    return Routing(agent=name, source="keyword", matchedKey=key)


def _mentions(question: str, keyword: str) -> bool:
    # Whole words only; a keyword that is no word, such as a code fence, may touch others.
    before = r"(?<!\w)" if keyword[0].isalnum() else ""
    after = r"(?!\w)" if keyword[-1].isalnum() else ""
    return re.search(f"{before}{re.escape(keyword)}{after}", question, re.IGNORECASE) is not None


def _last_question(messages: Sequence[AnyMessage]) -> str:
    return next((text_of(each.content) for each in reversed(messages) if isinstance(each, HumanMessage)), "")


async def _history(messages: Sequence[AnyMessage], config: RunnableConfig, deps: AgentDeps) -> list[BaseMessage]:
    """Give the conversation as two people would remember it: no tools, no files, nothing that summaries hold."""
    envelope = Envelope.of(config)
    recalled = await envelope.recalling(deps.recall).get()
    kept = trim(
        messages,
        coverage(human_ids(messages), envelope.summaries_in(recalled)),
        buffer_turns=deps.settings.memory_thread_messages_buffer_recent_turns,
        token_budget=TOKEN_BUDGET,
        count_tokens=count_tokens_approximately,
    )
    return [spoken for message in kept if (spoken := _spoken(message)) is not None]


def _spoken(message: AnyMessage) -> BaseMessage | None:
    text = text_of(message.content)
    if isinstance(message, HumanMessage):
        return HumanMessage(text)
    if isinstance(message, AIMessage) and not message.tool_calls and text.strip():
        return AIMessage(text)
    return None


def _silently(config: RunnableConfig) -> RunnableConfig:
    return {**config, "tags": [*config.get("tags", []), TAG_NOSTREAM]}


def _schema(specs: Sequence[AgentSpec]) -> dict[str, Any]:
    return {
        "title": "Route",
        "description": "Who answers the user's last message.",
        "type": "object",
        "properties": {
            "agent": {
                "type": "string",
                "enum": [spec.name for spec in specs],
                "description": "The specialist's name.",
            }
        },
        "required": ["agent"],
    }
