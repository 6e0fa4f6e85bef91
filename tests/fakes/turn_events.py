"""A bus that keeps what was announced."""

from shared.domain.errors import StoreError
from shared.domain.events import TurnEnded


class RecordingTurnEvents:
    """Implements ``TurnEvents``; ``published`` holds the events in order.

    ``failures`` is how many publications are refused before one is taken.
    """

    def __init__(self, *, failures: int = 0) -> None:
        self.published: list[TurnEnded] = []
        self.failures = failures

    async def publish(self, event: TurnEnded) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise StoreError("The bus did not take the event.")
        self.published.append(event)
