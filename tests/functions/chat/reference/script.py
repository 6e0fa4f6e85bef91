"""One script of requests for both sides, sent by the stock client; each answer's shape is kept by its step's name."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIError

from tests.functions.chat.reference.graph import ASK, FAIL, HOLD
from tests.functions.chat.reference.shapes import shape_of_reply

MODES = ("values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events")
MISSING = "1ef4a9b8-d7da-679a-a45a-872054341df2"


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


class Script:
    """Runs the script.

    Parameters
    ----------
    http : httpx.AsyncClient
        Reaches the API.
    """

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.shapes: dict[str, Any] = {}
        self._step: ContextVar[str | None] = ContextVar("step", default=None)
        http.event_hooks["response"].append(self._note)
        self._http = http
        self._client = LangGraphClient(http)
        self._threads, self._runs, self._assistants = self._client.threads, self._client.runs, self._client.assistants

    async def _note(self, response: httpx.Response) -> None:
        await response.aread()
        if (step := self._step.get()) is not None:
            # The first: of a stream without an "end" the client asks afterwards what became of the run.
            self.shapes.setdefault(step, shape_of_reply(response))

    async def _take(self, step: str, asked: "Awaitable[Any] | AsyncIterator[Any]") -> Any:
        """Have a step and give what the client makes of the answer; ``None`` where that is an error."""
        token = self._step.set(step)
        try:
            with suppress(APIError, httpx.HTTPError):
                if isinstance(asked, AsyncIterator):
                    return [part async for part in asked]
                return await asked
        finally:
            self._step.reset(token)
        return None

    async def run(self) -> dict[str, Any]:
        """Give the shapes of all answers."""
        for part in (self._service, self._assistant, self._thread, self._streams, self._conversation):
            await part()
        for part in (self._question, self._failure, self._stateless, self._stopping, self._ends):
            await part()
        return self.shapes

    async def _service(self) -> None:
        await self._take("ok", self._http.get("/ok"))
        await self._take("info", self._http.get("/info"))

    async def _assistant(self) -> None:
        (found,) = await self._take("assistants.search", self._assistants.search(graph_id="agent"))
        ident = found["assistant_id"]
        await self._take("assistants.search none", self._assistants.search(graph_id="other"))
        await self._take("assistants.get", self._assistants.get(ident))
        await self._take("assistants.get missing", self._assistants.get(MISSING))
        await self._take("assistants.schemas", self._assistants.get_schemas(ident))
        await self._take("assistants.graph", self._assistants.get_graph(ident))
        await self._take("assistants.graph xray", self._assistants.get_graph(ident, xray=True))

    async def _thread(self) -> None:
        made = await self._take("threads.create", self._threads.create(metadata={"colour": "blue"}))
        thread = made["thread_id"]
        await self._take("threads.create again", self._threads.create(thread_id=thread))
        await self._take("threads.create once", self._threads.create(thread_id=thread, if_exists="do_nothing"))
        await self._take("threads.create no uuid", self._threads.create(thread_id="no-uuid"))
        await self._take("threads.get", self._threads.get(thread))
        await self._take("threads.get missing", self._threads.get(MISSING))
        await self._take("threads.get no uuid", self._threads.get("no-uuid"))
        await self._take("threads.update", self._threads.update(thread, metadata={"colour": "red"}))
        await self._take("threads.update missing", self._threads.update(MISSING, metadata={}))
        await self._take("threads.search", self._threads.search(metadata={"colour": "red"}))
        await self._take("threads.search select", self._threads.search(select=["thread_id", "status"]))
        await self._take("threads.search bad status", self._http.post("/threads/search", json={"status": "asleep"}))
        await self._take("threads.search no json", self._http.post("/threads/search", content=b"{"))
        await self._take("threads.count", self._threads.count())
        await self._take("state of a new thread", self._threads.get_state(thread))
        await self._take("history of a new thread", self._threads.get_history(thread))
        await self._take("state missing", self._threads.get_state(MISSING))
        await self._take("history missing", self._threads.get_history(MISSING))
        await self._take("runs.list of a new thread", self._runs.list(thread))
        await self._take("runs.list missing", self._runs.list(MISSING))
        await self._take("runs.get missing", self._runs.get(thread, MISSING))
        await self._take("runs.cancel missing", self._runs.cancel(thread, MISSING))
        await self._take("threads.delete", self._threads.delete(thread))
        await self._take("threads.delete again", self._threads.delete(thread))

    async def _streams(self) -> None:
        for mode in MODES:
            await self._stream(f"stream {mode}", stream_mode=mode)
        await self._stream(
            "stream subgraphs", stream_mode=["values", "updates", "messages-tuple"], stream_subgraphs=True
        )
        await self._stream("stream subgraphs messages", stream_mode="messages", stream_subgraphs=True)
        await self._stream("stream bad mode", stream_mode="no-mode")
        await self._stream("stream bad assistant", assistant="no-agent", stream_mode="values")
        await self._take("stream missing", self._runs.stream(MISSING, "agent", input=said("Hi"), stream_mode="values"))
        new = str(uuid.uuid4())
        await self._take(
            "stream in a thread that it makes",
            self._runs.stream(new, "agent", input=said("Hi"), stream_mode="values", if_not_exists="create"),
        )

    async def _stream(self, step: str, *, assistant: str = "agent", **options: Any) -> None:
        thread = (await self._threads.create())["thread_id"]
        await self._take(step, self._runs.stream(thread, assistant, input=said("Hi"), **options))

    async def _conversation(self) -> None:
        thread = (await self._threads.create(metadata={"topic": "numbers"}))["thread_id"]
        await self._take("wait", self._runs.wait(thread, "agent", input=said("One")))
        await self._runs.wait(thread, "agent", input=said("Two"))
        (run, *_) = await self._take("runs.list", self._runs.list(thread))
        await self._take("runs.list select", self._runs.list(thread, select=["run_id", "status"]))
        await self._take("runs.get", self._runs.get(thread, run["run_id"]))
        await self._take("runs.cancel over", self._runs.cancel(thread, run["run_id"]))
        await self._take("threads.get said", self._threads.get(thread))
        await self._take("threads.search said", self._threads.search(metadata={"topic": "numbers"}, limit=1))
        state = await self._take("state", self._threads.get_state(thread))
        await self._take("state subgraphs", self._threads.get_state(thread, subgraphs=True))
        history = await self._take("history", self._threads.get_history(thread, limit=100))
        await self._take("history before", self._threads.get_history(thread, before=state["checkpoint"]))
        place = history[-1]["checkpoint"]
        await self._take("state at", self._http.get(f"/threads/{thread}/state/{place['checkpoint_id']}"))
        await self._take("state at a checkpoint", self._threads.get_state(thread, checkpoint=state["checkpoint"]))
        await self._take("state at missing", self._threads.get_state(thread, checkpoint_id=MISSING))
        await self._take("state update", self._threads.update_state(thread, said("Three"), as_node="chat_agent"))
        await self._take("state update bad node", self._threads.update_state(thread, said("Three"), as_node="nobody"))
        await self._take("state update missing", self._threads.update_state(MISSING, said("Three")))
        await self._take("threads.copy", self._threads.copy(thread))
        await self._take("threads.copy missing", self._threads.copy(MISSING))

    async def _question(self) -> None:
        thread = (await self._threads.create())["thread_id"]
        await self._take("ask values", self._runs.stream(thread, "agent", input=said(ASK), stream_mode="values"))
        await self._take("ask state", self._threads.get_state(thread))
        await self._take("ask thread", self._threads.get(thread))
        await self._take("ask search", self._threads.search(status="interrupted"))
        await self._take("ask history", self._threads.get_history(thread))
        answer = {"resume": "yes"}
        await self._take(
            "resume", self._runs.stream(thread, "agent", command=answer, stream_mode=["values", "updates"])
        )
        thread = (await self._threads.create())["thread_id"]
        await self._take("ask updates", self._runs.stream(thread, "agent", input=said(ASK), stream_mode="updates"))
        thread = (await self._threads.create())["thread_id"]
        await self._take("ask wait", self._runs.wait(thread, "agent", input=said(ASK)))
        await self._take("resume wait", self._runs.wait(thread, "agent", command=answer))
        thread = (await self._threads.create())["thread_id"]
        stopped = self._runs.wait(thread, "agent", input=said("Hi"), interrupt_before=["chat_agent"])
        await self._take("interrupt before", stopped)
        await self._take("interrupt before state", self._threads.get_state(thread))
        await self._take("go on", self._runs.wait(thread, "agent"))

    async def _failure(self) -> None:
        thread = (await self._threads.create())["thread_id"]
        await self._take("fail values", self._runs.stream(thread, "agent", input=said(FAIL), stream_mode="values"))
        await self._take("fail state", self._threads.get_state(thread))
        await self._take("fail thread", self._threads.get(thread))
        await self._take("fail runs", self._runs.list(thread))
        await self._take("fail wait", self._runs.wait(thread, "agent", input=said(FAIL), raise_error=False))

    async def _stateless(self) -> None:
        await self._take("stateless stream", self._runs.stream(None, "agent", input=said("Hi"), stream_mode="values"))
        await self._take("stateless wait", self._runs.wait(None, "agent", input=said("Hi")))
        await self._take("stateless bad assistant", self._runs.wait(None, "no-agent", input=said("Hi")))

    async def _stopping(self) -> None:
        thread = (await self._threads.create())["thread_id"]
        going = asyncio.create_task(
            self._take(
                "hold",
                self._runs.stream(
                    thread, "agent", input=said(HOLD), stream_mode="messages-tuple", stream_resumable=True
                ),
            )
        )
        run = await self._first_run(thread)
        joining = asyncio.create_task(
            self._take("join", self._runs.join_stream(thread, run, last_event_id="-1", stream_mode="messages-tuple"))
        )
        await self._take("busy runs.get", self._runs.get(thread, run))
        await self._take("busy thread", self._threads.get(thread))
        rejected = self._runs.stream(
            thread, "agent", input=said("Hi"), stream_mode="values", multitask_strategy="reject"
        )
        await self._take("busy reject", rejected)
        await self._take("cancel", self._runs.cancel(thread, run))
        await asyncio.gather(going, joining)
        await self._take("cancelled runs.get", self._runs.get(thread, run))
        await self._take("join over", self._runs.join_stream(thread, run, last_event_id="-1"))
        await self._take("join missing", self._runs.join_stream(thread, MISSING))

    async def _first_run(self, thread: str) -> str:
        while not (runs := await self._runs.list(thread)) or runs[0]["status"] != "running":  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # the other side may be a server
        return runs[0]["run_id"]

    async def _ends(self) -> None:
        await self._take("no such route", self._http.get("/no-such-route"))
        await self._take("no such method", self._http.put("/threads", json={}))
