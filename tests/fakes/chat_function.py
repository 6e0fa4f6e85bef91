"""The chat function as it is deployed, on in-memory ports: what a bootstrap starts in tests."""

import asyncio
import os

from shared.adapters.routes import TransferMode, find_route
from shared.adapters.runtime.asgi import AsgiRunner
from tests.fakes.chat_api import ChatApi
from tests.fakes.chat_model import Say, ScriptedChatModel


async def gate(place: int) -> None:
    """Before the second word, tell the test, and wait until it says go on."""
    if place == 1:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["GATE_PORT"]))
        writer.write(b"before the second word\n")
        await reader.readline()
        writer.close()


def streams(event):
    route = find_route(event["httpMethod"], event["resource"])
    return route is not None and route.mode is TransferMode.STREAM


api = ChatApi(ScriptedChatModel(Say("A fjord is deep.", before_token=gate)))
runner = AsgiRunner(api.app, streams=streams)
handler = runner.handle
