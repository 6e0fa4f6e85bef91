"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime, timedelta


class FixedClock:
    """Implements ``Clock``; starts at a fixed moment unless told otherwise."""

    def __init__(self, now: datetime = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> datetime:
        """Move forward and give the new moment."""
        self._now += by
        return self._now
