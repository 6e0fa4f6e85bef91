"""The product's API as the chat uses it: threads and runs through the SDK, memory over HTTP."""

import asyncio
import hashlib
import mimetypes
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
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


@dataclass(frozen=True, slots=True)
class Document:
    """A document, and how far it has come."""

    id: str
    name: str
    state: str
    reason: str
    pages: int
    pages_done: int
    chunks: int
    chunks_done: int

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read what the API says of one."""
        return cls(
            id=body["id"],
            name=body["name"],
            state=body["state"],
            reason=body["reason"],
            pages=body["pages"],
            pages_done=body["pagesDone"],
            chunks=body["chunks"],
            chunks_done=body["chunksDone"],
        )

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state not in ("PENDING", "PREPARED", "OCR", "MARKDOWN", "EMBEDDING")

    @property
    def failed(self) -> bool:
        """Whether it ended without being searchable."""
        return self.ended and self.state != "READY"


class ChatApi:
    """Speaks to the product as one user.

    Parameters
    ----------
    http : httpx.AsyncClient
        With base URL and authentication.
    look_every : float, optional
        Seconds between two looks at a document that is on its way.
    bucket : httpx.AsyncBaseTransport, optional
        What carries uploads; the network unless told otherwise.
    """

    def __init__(
        self, http: httpx.AsyncClient, *, look_every: float = 1.0, bucket: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._http = http
        self._bucket = bucket
        self._look_every = look_every
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

    async def documents(self) -> list[Document]:
        """List documents, the newest first."""
        body = await self._json("GET", "/api/kb/documents")
        return [Document.of(each) for each in body["documents"]]

    async def upload(self, file: Path) -> AsyncIterator[Document]:
        """Upload a file and give its document each time that it has come further, up to its end.

        Raises
        ------
        ApiFault
            When it cannot be read, or the product does not take it.
        """
        data = await asyncio.to_thread(_bytes_of, file)
        media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        asked = {"name": file.name, "size": len(data), "mediaType": media_type}
        asked["sha256"] = hashlib.sha256(data).hexdigest()
        offer = await self._json("POST", "/api/kb/documents", json=asked)
        if offer["upload"] is None:
            yield Document.of(offer["document"])
            return
        await self._send(offer["upload"], data)
        last: Document | None = None
        while last is None or not last.ended:
            found = await self._document(offer["documentId"])
            if found is not None and found != last:
                yield found
            last = found or last
            if last is None or not last.ended:
                await asyncio.sleep(self._look_every)

    async def _send(self, ticket: Mapping[str, Any], data: bytes) -> None:
        # Not to the API, and so without its token.
        try:
            async with httpx.AsyncClient(
                transport=self._bucket, timeout=httpx.Timeout(30, write=300), trust_env=False
            ) as bucket:
                sent = await bucket.request(ticket["method"], ticket["url"], content=data, headers=ticket["headers"])
                sent.raise_for_status()
        except httpx.HTTPError as error:
            raise ApiFault(f"The upload failed. {_reason(error)}") from error

    async def _document(self, document: str) -> Document | None:
        """Give a document; ``None`` until the product has heard of its upload."""
        try:
            response = await self._http.get(f"/api/kb/documents/{document}")
            if response.status_code == HTTPStatus.NOT_FOUND:
                return None
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise ApiFault(_reason(error)) from error
        return Document.of(response.json())

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


def _bytes_of(path: Path) -> bytes:
    file = path.expanduser()
    if not file.exists():
        raise ApiFault(f"There is no file {file}.")
    if not file.is_file():
        raise ApiFault(f"{file} is not a file; /upload takes one file at a time.")
    try:
        return file.read_bytes()
    except OSError as error:
        raise ApiFault(f"{file} cannot be read: {error.strerror}.") from error


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
