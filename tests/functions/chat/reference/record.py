"""Asks LangGraph's own server and keeps the shapes of its answers.

``python -m tests.functions.chat.reference.record <langgraph>``: the argument is the path of the command of
``langgraph-cli[inmem]``, installed in an environment of its own. The server runs on loopback and needs no account.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.functions.chat.reference.script import Script

ROOT = Path(__file__).parents[4]
RECORDED = Path(__file__).parent / "shapes.json"


def main(command: str) -> None:
    """Record."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "served.py").write_text(
            "from tests.functions.chat.reference.graph import graph as make\n\ngraph = make()\n"
        )
        Path(folder, "langgraph.json").write_text('{"dependencies": ["."], "graphs": {"agent": "./served.py:graph"}}')
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
        options += ["--n-jobs-per-worker", "4"]
        quiet = {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "PYTHONPATH": str(ROOT)}
        server = subprocess.Popen(  # noqa: S603 - what the caller named
            [command, "dev", *options], cwd=folder, env={**os.environ, **quiet}, stdout=subprocess.DEVNULL
        )
        try:
            recorded = asyncio.run(_recorded(f"http://127.0.0.1:{port}"))
        finally:
            server.terminate()
            server.wait()
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


async def _recorded(url: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        version = await _version(http)
        return {"reference": f"langgraph-api {version}", "answers": await Script(http).run()}


async def _version(http: httpx.AsyncClient) -> str:
    for _ in range(120):
        try:
            return (await http.get("/info")).raise_for_status().json()["version"]
        except httpx.HTTPError:
            await asyncio.sleep(1)
    raise TimeoutError("The server does not answer.")


if __name__ == "__main__":
    main(sys.argv[1])
