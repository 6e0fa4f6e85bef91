"""The right to run one summary pass over one window: at-least-once delivery, one model call."""

from dataclasses import dataclass
from datetime import datetime
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
