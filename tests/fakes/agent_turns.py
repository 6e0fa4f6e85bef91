"""A thread of the agent graph on in-memory ports, run turn by turn as the runner does."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from shared.adapters.bedrock.model_input import Arrange, plain
from shared.domain.ids import ThreadId, UserId
from shared.domain.profile import AccountOverlay
from shared.domain.threads import ThreadRow
from shared.graphs.agent import AgentDeps, AgentModels, Envelope, TurnMark, build
from shared.services.recall import Recall
from shared.services.remember import Remember
from shared.services.turn_memory import TurnMemory
from shared.settings import ChatSettings
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.profiles import InMemoryProfiles
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.threads import InMemoryThreads

USER = UserId("5f0c7b1e-6b0e-4a52-9d5b-0a3f5f6f1a01")
OTHER = UserId("5f0c7b1e-6b0e-4a52-9d5b-0a3f5f6f1a02")


async def at_once(_seconds: float) -> None:
    """Wait for nothing."""


def chat_settings(**changes: Any) -> ChatSettings:
    return ChatSettings.model_validate(
        {
            "memory_table": "memory",
            "checkpoint_table": "checkpoints",
            "event_bus": "bus",
            "purge_queue_url": "https://queue.example",
            "bucket": "everthread-uploads",
            "chat_model": "anthropic.claude-sonnet-4-6",
            "fast_model": "amazon.nova-lite-v1:0",
            **changes,
        }
    )


@dataclass
class Turns:
    """The product without HTTP: the agent graph, its ports, and a checkpointer."""

    chat: Any = field(default_factory=ScriptedChatModel)
    fast: Any = field(default_factory=ScriptedChatModel)
    arrange: Arrange = plain
    settings: ChatSettings = field(default_factory=lambda: chat_settings(agents=("chat",)))
    transport: httpx.AsyncBaseTransport | None = None
    profiles: InMemoryProfiles = field(default_factory=InMemoryProfiles)
    threads: InMemoryThreads = field(default_factory=InMemoryThreads)
    metrics: CountingMetrics = field(default_factory=CountingMetrics)
    clock: FixedClock = field(default_factory=FixedClock)
    recall_seconds: float = 5.0
    library: ChatKnowledge = field(default_factory=ChatKnowledge)

    def __post_init__(self) -> None:
        self.summaries = InMemorySummaries()
        self.saver = InMemorySaver()
        self.recall = Recall(self.profiles, self.summaries, self.metrics, limit_seconds=self.recall_seconds)
        remember = Remember(self.profiles, self.clock, self.settings.memory_profile_max_bytes, pause=at_once)
        self.deps = AgentDeps(
            models=AgentModels(chat=self.chat, fast=self.fast, arrange=self.arrange),
            recall=self.recall,
            remember=remember,
            knowledge=self.library.services(),
            threads=self.threads,
            metrics=self.metrics,
            settings=self.settings,
            transport=self.transport,
        )
        self.graph: CompiledStateGraph[Any, Any, Any, Any] = build(self.deps)

    async def thread(self, user: UserId = USER, **row: Any) -> "Thread":
        thread = ThreadId(str(uuid4()))
        now = self.clock.now()
        await self.threads.create(
            ThreadRow(user_id=user, thread_id=thread, created_at=now, updated_at=now, last_message_at=now, **row)
        )
        return Thread(self, user, thread)


@dataclass
class Thread:
    """One thread; ``mark`` is that of the last run."""

    turns: Turns
    user: UserId
    id: ThreadId
    account: AccountOverlay = field(default_factory=AccountOverlay)
    mark: TurnMark = field(default_factory=TurnMark)

    @property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        return self.turns.graph.copy(update={"checkpointer": self.turns.saver})

    async def config(self) -> dict[str, Any]:
        self.mark = TurnMark()
        row = await self.turns.threads.get(self.user, self.id)
        envelope = Envelope(
            user=self.user,
            thread=self.id,
            account=self.account,
            title=row.title,
            policy=row.policy,
            memory=TurnMemory(self.turns.recall, self.user, self.id, self.account).start(),
            mark=self.mark,
        )
        return {"configurable": envelope.configurable()}

    async def stream(
        self, message: str | HumanMessage | Command[Any] | None, modes: Sequence[str] = ("messages",)
    ) -> AsyncIterator[tuple[tuple[str, ...], str, Any]]:
        given: Any = message
        if isinstance(message, str):
            given = {"messages": [HumanMessage(message)]}
        elif isinstance(message, HumanMessage):
            given = {"messages": [message]}
        stream = self.graph.astream(
            given, await self.config(), stream_mode=list(modes), subgraphs=True, durability="exit"
        )
        async for part in stream:
            yield part

    async def say(self, message: str | HumanMessage | Command[Any] | None) -> list[AnyMessage]:
        """Run a turn to its end and give the thread's messages."""
        async for _ in self.stream(message, ["values"]):
            pass
        return await self.messages()

    async def messages(self) -> list[AnyMessage]:
        return (await self.state()).get("messages", [])

    async def state(self) -> dict[str, Any]:
        return (await self.graph.aget_state({"configurable": {"thread_id": self.id}})).values
