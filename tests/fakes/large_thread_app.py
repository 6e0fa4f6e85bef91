"""The chat function as Lambda starts it, over mocked tables that hold one thread of 20 MB."""

import asyncio
import random
import string
import sys
import uuid
from contextlib import ExitStack
from datetime import UTC, datetime
from types import ModuleType

from langchain_core.messages import HumanMessage

from shared.domain.ids import ThreadId, UserId
from shared.domain.threads import ThreadRow
from shared.graphs.runs.state_change import StateChange
from tests.fakes.deployed import USER, deployed_chat

THREAD = ThreadId(str(uuid.UUID(int=20)))
CHANGES, MESSAGES, MESSAGE_CHARS = 4, 25, 200_000
"""How often the thread was said something, with how many messages, and how long each of them is."""


async def _fill(chat: ModuleType) -> None:
    letters = random.Random(20).choices(string.ascii_letters, k=2 * MESSAGE_CHARS)  # noqa: S311 - a text, no secret
    now = datetime.now(UTC)
    row = ThreadRow(user_id=UserId(USER), thread_id=THREAD, created_at=now, updated_at=now, last_message_at=now)
    await chat.threads.create(row)
    for change in range(CHANGES):
        places = [change * MESSAGES + each for each in range(MESSAGES)]
        said = [HumanMessage("".join(letters[n : n + MESSAGE_CHARS]), id=f"m-{n}") for n in places]
        await chat.runner.change_state(
            StateChange(user=UserId(USER), thread=THREAD, values={"messages": said}, as_node="chat_agent")
        )


# Imported by a child process alone, and open for as long as that lives.
_deployed = ExitStack()
handler = _deployed.enter_context(deployed_chat()).handler
asyncio.run(_fill(sys.modules["functions.chat.handler"]))
