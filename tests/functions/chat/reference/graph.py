"""The graph that both sides run: ours behind the chat API, and the reference's own server."""

import asyncio
from typing import Any

from tests.fakes.chat_model import Request, Say, ScriptedChatModel
from tests.fakes.small_graph import small_graph

FAIL, HOLD, ASK = "fail", "hold", "confirm"
"""Questions that are not just answered: one fails, one is never answered in full, and one asks back."""


def answering_model() -> ScriptedChatModel:
    """Give a model that answers every question."""
    return ScriptedChatModel(*[_answer] * 500)


def _answer(request: Request) -> Say:
    question = request.history[-1].text
    if question == FAIL:
        raise ValueError("as asked")
    return Say("One two three.", before_token=_hold if question == HOLD else None)


async def _hold(place: int) -> None:
    if place > 0:
        await asyncio.Event().wait()


def graph() -> Any:
    """Make the graph for the reference's server."""
    return small_graph(answering_model())
