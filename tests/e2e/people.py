"""People who use the product over HTTP, each with an account and a token of their own."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import jwt
from langgraph_sdk.client import LangGraphClient

from local.cloud.users import Credentials
from local.product import LocalProduct
from tests.e2e.waiting import until


@dataclass(frozen=True)
class Person:
    """One signed-in user.

    Parameters
    ----------
    user_id : str
        The ``sub`` of the token.
    http : httpx.AsyncClient
        Sends the token.
    sdk : LangGraphClient
        The official client, on ``http``.
    """

    user_id: str
    http: httpx.AsyncClient
    sdk: LangGraphClient

    def stream(self, thread: str, text: str, **options: Any) -> AsyncIterator[Any]:
        return self.sdk.runs.stream(
            thread,
            "agent",
            input={"messages": [{"role": "user", "content": text}]},
            **{"stream_mode": "messages-tuple", "if_not_exists": "create", **options},
        )

    async def say(self, thread: str, text: str) -> str:
        """One whole turn; the text of the last answer in the thread."""
        events = [part async for part in self.stream(thread, text, stream_mode="values")]
        assert [part.data for part in events if part.event == "error"] == []
        return content_text(events_of(events, "values")[-1].data["messages"][-1]["content"])

    async def messages(self, thread: str) -> list[dict[str, Any]]:
        state = await self.sdk.threads.get_state(thread)
        return state["values"].get("messages", [])

    async def profile(self) -> dict[str, Any]:
        return (await self.http.get("/api/memory/profile")).raise_for_status().json()

    async def passes(self, thread: str) -> list[dict[str, Any]]:
        """The summary passes of a thread, oldest first."""
        body = (await self.http.get("/api/memory/threads")).raise_for_status().json()
        return [row["value"] for each in body["threads"] if each["threadId"] == thread for row in each["summaries"]]

    async def passes_reach(self, thread: str, count: int) -> list[dict[str, Any]]:
        async def look() -> list[dict[str, Any]]:
            passes = await self.passes(thread)
            return passes if len(passes) >= count else []

        return await until(look, f"{count} summary passes")


def events_of(parts: list[Any], event: str) -> list[Any]:
    return [part for part in parts if part.event == event]


def content_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block if isinstance(block, str) else block.get("text", "") for block in content)


class People:
    """Makes people."""

    def __init__(self, product: LocalProduct) -> None:
        self._product = product
        self._opened: list[httpx.AsyncClient] = []

    def someone(self, name: str | None = None, *, at: LocalProduct | None = None) -> Person:
        """A new person; ``at`` another address of the product than its own."""
        who = Credentials.new(f"{uuid4().hex}@everthread.test")
        self._product.users.ensure(who, name=name)
        return self.signed_in(who, at=at)

    def signed_in(self, who: Credentials, *, at: LocalProduct | None = None) -> Person:
        """A person with an account."""
        token = self._product.users.sign_in(who).id_token
        http = httpx.AsyncClient(
            base_url=(at or self._product).url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(60, connect=5),
            trust_env=False,
        )
        self._opened.append(http)
        claims = jwt.decode(token, options={"verify_signature": False})
        return Person(claims["sub"], http, LangGraphClient(http))

    async def close(self) -> None:
        for http in self._opened:
            await http.aclose()
