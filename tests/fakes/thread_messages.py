"""Threads' messages, kept in memory."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from shared.domain.ids import ThreadId, UserId


class InMemoryThreadMessages:
    """Implements ``ThreadMessages``; ``put`` is what a finished run would have stored."""

    def __init__(self) -> None:
        self._messages: dict[tuple[UserId, ThreadId], list[AnyMessage]] = {}
        self.loads = 0

    async def load(self, user: UserId, thread: ThreadId) -> Sequence[AnyMessage]:
        self.loads += 1
        return list(self._messages.get((user, thread), ()))

    def put(self, user: UserId, thread: ThreadId, messages: Sequence[AnyMessage]) -> None:
        """Make ``messages`` the thread's messages."""
        self._messages[user, thread] = list(messages)
