"""The right to run one summary pass over one window: at-least-once delivery, one model call."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from shared.domain.ids import ThreadId


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim on a window.

    Parameters
    ----------
    thread_id : str
        The thread.
    window_key : str
        Derived from what the window covers (start index and the ids), so that equal windows meet at one item.
    token : str
        Unique to this attempt; the summary is written only while the item still carries it.
    attempts : int
        How many passes have claimed this window, this one included.
    until : datetime
        When somebody else may take over.
    """

    thread_id: ThreadId
    window_key: str
    token: str
    attempts: int
    until: datetime


ClaimRefusal = Literal["held", "done", "backing_off", "exhausted", "thread_gone"]
"""Why a claim was not given: another pass runs; the window is covered; it failed a moment ago; it failed too often
(and is marked failed, visibly); the thread is gone."""

ClaimState = Literal["held", "returned", "done", "failed"]
"""What a window's claim is: a pass runs (or died); a pass failed and gave it back; covered; given up for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRecord:
    """A window's claim as stored, whoever holds it.

    Parameters
    ----------
    state : {'held', 'returned', 'done', 'failed'}
        As last written.
    token : str
        Of the last attempt.
    attempts : int
        How many there were.
    until : datetime
        When the last attempt's hold ends or, once it is over, ended.
    """

    state: ClaimState
    token: str
    attempts: int
    until: datetime

    def refusal(self, now: datetime, *, max_attempts: int, back_off: timedelta) -> ClaimRefusal | None:
        """Say why the window cannot be claimed now; ``None`` when it can.

        An attempt that died is followed up at once, one that failed after ``back_off``, doubled for each attempt.
        """
        if self.state == "done":
            return "done"
        if self.state == "held" and self.until > now:
            return "held"
        if self.attempts >= max_attempts:
            return "exhausted"
        if self.state == "returned" and now < self.until + back_off * 2 ** (self.attempts - 1):
            return "backing_off"
        return None
