"""The scripted model, steered over its control routes."""

from typing import Any

import httpx

from local.model.script import Match, Reply, Script
from tests.e2e.waiting import until


class Model:
    """Puts scripts up, opens gates, shows what was asked."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def script(self, *replies: Reply, repeat: bool = False, **match: Any) -> None:
        script = Script(match=Match(**match), replies=list(replies), repeat=repeat)
        (await self._http.post("/_control/scripts", content=script.model_dump_json())).raise_for_status()

    async def open(self, gate: str) -> None:
        (await self._http.post(f"/_control/gates/{gate}")).raise_for_status()

    async def someone_waits(self, gate: str) -> None:
        async def look() -> bool:
            return (await self._http.get(f"/_control/gates/{gate}")).json()["waiting"] > 0

        await until(look, f"a reply that waits at {gate}")

    async def requests(self, contains: str, *, kind: str | None = None, field: str | None = None) -> list[dict]:
        """The recorded bodies of requests with this text, oldest first."""
        records = (await self._http.get("/_control/requests", params={"contains": contains})).json()
        return [
            record["body"]
            for record in records
            if (kind is None or record["kind"] == kind) and (field is None or field in _asked_fields(record["body"]))
        ]

    async def answers(self, contains: str) -> list[dict]:
        """The requests of agents: tools are offered."""
        return await self.requests(contains, kind="answer")

    async def summaries(self, contains: str) -> list[dict]:
        """The requests of summary passes."""
        return await self.requests(contains, kind="object", field="entries")


def system_text(body: dict) -> str:
    return "\n".join(block["text"] for block in body["system"] if "text" in block)


def user_texts(body: dict) -> list[str]:
    return [
        block["text"]
        for message in body["messages"]
        if message["role"] == "user"
        for block in message["content"]
        if "text" in block
    ]


def _asked_fields(body: dict) -> str:
    """Whatever describes the object that is asked for, as text."""
    return str(body.get("outputConfig", "")) + str(body.get("toolConfig", {}).get("tools", ""))
