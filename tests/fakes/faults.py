"""Failure on demand, for the fakes that stand in for the database."""

from collections import Counter


class Faults:
    """Lets a test make every call, or some, fail, and counts the calls.

    Attributes
    ----------
    failure
        What each call raises; ``None`` lets them through.
    failures
        What calls of one name raise, for example ``{"save": StoreError("down")}``.
    calls
        How often each method was called, failed calls included.
    """

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.failures: dict[str, Exception] = {}
        self.calls: Counter[str] = Counter()

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        failure = self.failures.get(name, self.failure)
        if failure is not None:
            raise failure
