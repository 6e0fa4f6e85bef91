"""Runs that have ended and their events, kept in memory."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shared.adapters.dynamodb.runs import KEEP_EVENTS, KEEP_ROWS
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.runs import EventPage, RunRow, RunStatus
from tests.fakes.clock import FixedClock
from tests.fakes.faults import Faults


class InMemoryRuns(Faults):
    """Implements ``Runs``."""

    def __init__(self, clock: FixedClock | None = None) -> None:
        super().__init__()
        self._clock = clock or FixedClock()
        self._rows: dict[tuple[UserId, ThreadId, RunId], tuple[RunRow, datetime]] = {}
        self._pages: dict[tuple[UserId, ThreadId, RunId, int], tuple[EventPage, datetime]] = {}

    async def save(
        self, user: UserId, *, rows: Sequence[RunRow] = (), pages: Sequence[EventPage] = (), now: datetime
    ) -> None:
        self._called("save")
        for row in rows:
            stored = replace(row, metadata=json.loads(compact_json(dict(row.metadata))))
            self._rows[user, row.thread_id, row.run_id] = (stored, _second(now + KEEP_ROWS))
        for page in pages:
            self._pages[user, page.thread_id, page.run_id, page.first] = (page, _second(now + KEEP_EVENTS))

    async def get(self, user: UserId, thread: ThreadId, run: RunId) -> RunRow | None:
        self._called("get")
        return self._living(self._rows).get((user, thread, run))

    async def search(
        self, user: UserId, thread: ThreadId, *, limit: int = 10, offset: int = 0, status: RunStatus | None = None
    ) -> Sequence[RunRow]:
        self._called("search")
        found = [row for key, row in self._living(self._rows).items() if key[:2] == (user, thread)]
        found = [row for row in found if status is None or row.status == status]
        return sorted(found, key=lambda row: row.run_id, reverse=True)[offset : offset + limit]

    async def pages(
        self, user: UserId, thread: ThreadId, run: RunId, *, since: int = 0, consistent: bool = True
    ) -> Sequence[EventPage]:
        self._called("pages")
        found = [page for key, page in self._living(self._pages).items() if key[:3] == (user, thread, run)]
        return sorted((page for page in found if page.first >= since), key=lambda page: page.first)

    async def forget(self, user: UserId, thread: ThreadId) -> None:
        self._called("forget")
        for kept in (self._rows, self._pages):
            for key in [key for key in kept if key[:2] == (user, thread)]:
                del kept[key]

    def _living(self, kept: dict[Any, tuple[Any, datetime]]) -> dict[Any, Any]:
        return {key: value for key, (value, expires) in kept.items() if expires > self._clock.now()}


def _second(moment: datetime) -> datetime:
    return moment - timedelta(microseconds=moment.microsecond)
