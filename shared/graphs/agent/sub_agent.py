# LangGraph's own signatures have type parameters that are left open.
# pyright: reportUnknownMemberType=false
"""A sub-agent: a graph of its own in which the model is called, and its tools, until it has said what it had to."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, Send

from shared.domain.errors import InvalidInputError, ModelError, ModelRefusedError
from shared.domain.history import told_plainly, trim
from shared.domain.kb.citations import PassageNumbers, passages_found, with_citations
from shared.domain.prompt import prompt_blocks
from shared.domain.storable import faults_of_calls, fitted_message, storable_answer
from shared.domain.turns import human_ids
from shared.domain.window import coverage
from shared.graphs.agent.deps import AgentDeps
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.prompts import base_prompt
from shared.graphs.agent.spec import AgentSpec
from shared.graphs.agent.state import AgentState, Node
from shared.graphs.agent.tools import common_tools
from shared.graphs.agent.tools.failures import failure_answers, failure_text
from shared.services.show_documents import ShownDocuments

MODEL: Final = "model"
TOOLS: Final = "tools"

MAX_TOOL_ROUNDS: Final = 12
"""How often the model may call tools in one turn; what it asks for after that is answered with an error."""

_log = logging.getLogger(__name__)


def agent_node(spec: AgentSpec, deps: AgentDeps) -> Node[AgentState]:
    """Make an agent's node of the agent graph: runs its own graph on the thread and gives what was new."""
    graph = sub_agent(spec, deps)

    async def run(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        envelope = replace(
            Envelope.of(config).remembering(deps.recall),
            conversation=state["messages"],
            numbers=PassageNumbers(),
            shown=ShownDocuments(),
        )
        given = AgentState(messages=[])
        if "running_summary" in state:
            given["running_summary"] = state["running_summary"]
        return {"messages": (await graph.ainvoke(given, envelope.into(config)))["messages"]}

    return run


def sub_agent(spec: AgentSpec, deps: AgentDeps) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build an agent's own graph: model, and tools while it asks for them.

    The thread's checkpoint is the agent graph's. This graph's state is what the agent adds to the thread; the thread
    itself comes in the envelope, so that nothing of it is stored a second time. Under durability ``exit`` it is stored
    only when the agent was interrupted or failed, and then the run that goes on finds the model's words and finished
    tools as they were. It is stored under the id of the agent's task, which no later turn has: each begins with the
    thread and nothing else.
    """
    tools = [*common_tools(deps), *spec.tools(deps)]
    builder = StateGraph(AgentState)
    builder.add_node(MODEL, _model_node(spec, deps, tools))
    builder.add_node(TOOLS, _tool_node(deps, tools))
    builder.add_edge(START, MODEL)
    builder.add_conditional_edges(MODEL, _after_model, [TOOLS, END])
    builder.add_edge(TOOLS, MODEL)
    return builder.compile(name=spec.node)


def _model_node(spec: AgentSpec, deps: AgentDeps, tools: Sequence[BaseTool]) -> Node[AgentState]:
    model = deps.models.chat.bind_tools(tools)
    base = base_prompt(spec)

    async def call_model(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        envelope = Envelope.of(config)
        messages = envelope.whole_thread(state["messages"])
        # In this order: what is trimmed depends on what the summaries cover.
        recalled = await envelope.recalling(deps.recall).get()
        covered = coverage(human_ids(messages), envelope.summaries_in(recalled))
        history = trim(
            messages,
            covered,
            buffer_turns=deps.settings.memory_thread_messages_buffer_recent_turns,
            token_budget=deps.settings.history_token_budget,
            count_tokens=count_tokens_approximately,
            asked=envelope.asked,
        )
        blocks = prompt_blocks(base, recalled.merged, covered.entries, state.get("running_summary"))
        # After the trim, which counts marks: what documents take is bounded by a budget of their own.
        history = await deps.knowledge.show.shown(envelope.user, history, envelope.shown)
        try:
            answer = await model.ainvoke(deps.models.arrange(blocks, history), config)
        except ModelRefusedError:
            plain = told_plainly(history, asked=envelope.asked)
            if plain == history:
                raise
            _log.warning("history refused, told plainly")
            answer = await model.ainvoke(deps.models.arrange(blocks, plain), config)
        answer = storable_answer(answer)
        return {"messages": [answer if answer.tool_calls else with_citations(answer, passages_found(messages))]}

    return call_model


def _tool_node(deps: AgentDeps, tools: Sequence[BaseTool]) -> ToolNode:
    async def within_bounds(
        request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        if request.tool is None:
            names = ", ".join(tool.name for tool in tools)
            return _refusal(request, "NO_SUCH_TOOL", f"There is no such tool. There are: {names}.")
        fault = _fault_in_call(request)
        if fault is not None:
            return _refusal(request, InvalidInputError.code, f"{fault}. Nothing was done.")
        if tool_rounds(request.state["messages"]) > MAX_TOOL_ROUNDS:
            return _refusal(request, "TOOL_LIMIT", "No more tools in this turn. Answer with what you have.")
        answer = await execute(request)
        return cast("ToolMessage", fitted_message(answer)) if isinstance(answer, ToolMessage) else answer

    return ToolNode(tools, name=TOOLS, handle_tool_errors=failure_answers(deps.metrics), awrap_tool_call=within_bounds)


def _refusal(request: ToolCallRequest, code: str, message: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(failure_text(code, message), name=call["name"], tool_call_id=call["id"], status="error")


def _fault_in_call(request: ToolCallRequest) -> str | None:
    """Say what is wrong with a call that could not be stored as the model made it."""
    asked = next((each for each in reversed(request.state["messages"]) if isinstance(each, AIMessage)), None)
    return None if asked is None else faults_of_calls(asked).get(request.tool_call["id"] or "")


def _after_model(state: MessagesState) -> Literal["__end__"] | list[Send]:
    """Send each tool call to a task of its own: what has its result keeps it while another waits for a person."""
    messages = state["messages"]
    last = messages[-1]
    if not isinstance(last, AIMessage) or not last.tool_calls:
        return "__end__"
    if tool_rounds(messages) > MAX_TOOL_ROUNDS + 1:
        raise ModelError("The model did not stop calling tools.")
    return [Send(TOOLS, [call]) for call in last.tool_calls]


def tool_rounds(messages: Sequence[AnyMessage]) -> int:
    """Count how often the model called tools in the current turn."""
    rounds = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        rounds += isinstance(message, AIMessage) and bool(message.tool_calls)
    return rounds
