"""Counters that tests read back."""

from collections import Counter


class CountingMetrics:
    """Implements ``Metrics``; ``counts`` holds what was counted, 0 for what was not."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def count(self, name: str, value: int = 1) -> None:
        self.counts[name] += value
