"""The system's clock."""

from datetime import UTC, datetime


class SystemClock:
    """The real time of day, in UTC."""

    def now(self) -> datetime:
        """Give the present moment."""
        return datetime.now(UTC)
