"""The product's API as the chat uses it: threads and runs through the SDK, memory over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Self
from uuid import uuid4

import httpx
from langgraph_sdk.client import LangGraphClient

from local.chat.events import Event, events_of, text_of

ASSISTANT: Final = "agent"
_LISTED = 20


class ApiFault(Exception):  # noqa: N818 - told to the person, the chat goes on
    """The API refused; the message is its own."""


@dataclass(frozen=True, slots=True)
class ListedThread:
    """A thread in the list."""

    id: str
    title: str
    preview: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered.

    Parameters
    ----------
    saved : mapping
        What the assistant saved; can be forgotten.
    account : mapping
        What the account says.
    merged : mapping
        What the model sees.
    """

    saved: Mapping[str, Any]
    account: Mapping[str, Any]
    merged: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ThreadSummaries:
    """The summaries of a thread, as the model reads them."""

    thread_id: str
    title: str | None
    texts: Sequence[str]


class ChatApi:
    """Speaks to the product as one user.

    Parameters
    ----------
    http : httpx.AsyncClient
        With base URL and authentication.
    """

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._sdk = LangGraphClient(http)

    @classmethod
    @asynccontextmanager
    async def connect(cls, url: str, auth: httpx.Auth) -> AsyncIterator[Self]:
        """Connect; a run may be silent for as long as its heartbeat is not."""
        limits = httpx.Timeout(30, read=120)
        async with httpx.AsyncClient(base_url=url, auth=auth, timeout=limits, trust_env=False) as http:
            yield cls(http)

    async def wake(self) -> None:
        """Ask for something from each function, so that none has to start when the person waits for it."""
        with suppress(ApiFault):
            await asyncio.gather(self.memory(), self.threads())

    def new_thread(self) -> str:
        """Make up the id of a thread; the first turn creates it."""
        return str(uuid4())

    async def say(self, thread: str, text: str) -> AsyncIterator[Event]:
        """Say something in a thread and give what happens."""
        parts = self._sdk.runs.stream(
            thread,
            ASSISTANT,
            input={"messages": [{"role": "user", "content": text}]},
            stream_mode="messages-tuple",
            if_not_exists="create",
        )
        try:
            async for event in events_of(parts):
                yield event
        except httpx.HTTPError as error:
            raise ApiFault(_reason(error)) from error

    async def threads(self) -> list[ListedThread]:
        """List threads, the newest first."""
        found = await self._json("POST", "/threads/search", json={"limit": _LISTED})
        return [
            ListedThread(
                id=thread["thread_id"],
                title=str((thread.get("metadata") or {}).get("title") or thread.get("title") or ""),
                preview=_preview(thread),
                updated_at=str(thread.get("updated_at", "")),
            )
            for thread in found
        ]

    async def messages(self, thread: str) -> list[tuple[str, str]]:
        """Give what was said in a thread, as type of message and text."""
        state = await self._json("GET", f"/threads/{thread}/state")
        said: list[dict[str, Any]] = (state.get("values") or {}).get("messages", [])
        return [(message["type"], text) for message in said if (text := text_of(message.get("content")))]

    async def memory(self) -> Memory:
        """Give the profile."""
        body = await self._json("GET", "/api/memory/profile")
        return Memory(body["store"], body["auth"], body["memory"])

    async def summaries(self) -> list[ThreadSummaries]:
        """Give the summaries of all threads, the newest thread first."""
        body = await self._json("GET", "/api/memory/threads")
        return [
            ThreadSummaries(thread["threadId"], thread.get("threadTitle"), [row["text"] for row in thread["summaries"]])
            for thread in body["threads"]
        ]

    async def forget_key(self, key: str) -> None:
        """Delete a key of the profile."""
        await self._json("DELETE", f"/api/memory/profile/{httpx.URL(path=key).raw_path.decode('ascii').lstrip('/')}")

    async def forget_summaries(self, thread: str) -> int:
        """Delete the summaries of a thread; give how many there were."""
        return int((await self._json("DELETE", f"/api/memory/threads/{thread}"))["deletedCount"])

    async def delete_thread(self, thread: str) -> None:
        """Delete a thread with everything it has."""
        await self._json("DELETE", f"/threads/{thread}")

    async def _json(self, method: str, path: str, **more: Any) -> Any:  # noqa: ANN401 - JSON
        try:
            response = await self._http.request(method, path, **more)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise ApiFault(_reason(error)) from error
        return response.json() if response.content else None


def _preview(thread: Mapping[str, Any]) -> str:
    messages: list[dict[str, Any]] = (thread.get("values") or {}).get("messages", [])
    return text_of(messages[0].get("content")) if messages else ""


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        try:
            body = error.response.json()
        except (ValueError, httpx.ResponseNotRead):
            body = {}
        said = body.get("message") or body.get("detail") if isinstance(body, dict) else None
        return str(said or f"The API answers {error.response.status_code}.")
    return f"The connection broke ({type(error).__name__})."
