"""The chat API on in-memory ports, reached as a signed-in user reaches it."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.client import LangGraphClient

from functions.chat.app import app_of
from functions.chat.wiring import Chat
from shared.adapters.http import EVENT_SCOPE_KEY
from shared.graphs.runs.runner import TakeIn
from shared.services.copy_thread import CopyThread
from shared.services.follow_run import FollowRun
from shared.services.manage_runs import ManageRuns
from shared.services.manage_threads import ManageThreads
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.purge_queue import RecordingPurgeQueue
from tests.fakes.runs import MOMENT, OTHER, USER, Runs
from tests.fakes.small_graph import small_graph

__all__ = ["OTHER", "USER", "ChatApi", "Event", "events_in"]


async def _shortly(_seconds: float) -> None:
    await asyncio.sleep(MOMENT.total_seconds())


@dataclass
class ChatApi:
    """The app, what is behind it, and clients of it."""

    model: ScriptedChatModel = field(default_factory=ScriptedChatModel)
    heartbeat_seconds: float = 60
    max_body_bytes: int = 100_000
    make: Callable[[ScriptedChatModel], CompiledStateGraph[Any, Any, Any, Any]] = small_graph
    take_in: TakeIn | None = None

    def __post_init__(self) -> None:
        self.runs = Runs(self.model, self.make, take_in=self.take_in)
        self.queue = RecordingPurgeQueue()
        manage_threads = ManageThreads(self.runs.threads, self.queue, self.runs.clock, self.runs.metrics)
        self.app: FastAPI = app_of(
            Chat(
                threads=manage_threads,
                copies=CopyThread(self.runs.threads, self.runs.runner, manage_threads, self.runs.clock),
                runs=ManageRuns(self.runs.threads, self.runs.run_rows, self.runs.clock, pause=_shortly),
                follow=FollowRun(self.runs.threads, self.runs.run_rows, self.runs.clock, look_every=MOMENT),
                runner=self.runs.runner,
                clock=self.runs.clock,
                heartbeat_seconds=self.heartbeat_seconds,
            ),
            max_body_bytes=self.max_body_bytes,
        )

    def client(self, user: str | None = USER, **claims: Any) -> httpx.AsyncClient:
        """A client whose requests API Gateway let through for this user; for nobody with ``None``."""
        event = {"requestContext": {"authorizer": {"claims": {"sub": user, **claims}} if user else None}}

        async def through_gateway(scope: Any, receive: Any, send: Any) -> None:
            await self.app({**scope, EVENT_SCOPE_KEY: event}, receive, send)

        return httpx.AsyncClient(transport=httpx.ASGITransport(through_gateway), base_url="http://chat.test")

    def sdk(self, user: str = USER) -> LangGraphClient:
        """The stock client."""
        return LangGraphClient(self.client(user))


@dataclass
class Event:
    """One server-sent event."""

    name: str
    data: Any
    id: int


def events_in(body: str) -> Sequence[Event]:
    """Read a stream of server-sent events; comments are left out."""
    events = []
    for block in body.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append(Event(fields["event"], json.loads(fields["data"]), int(fields["id"])))
    return events
