"""What runs through the background graph."""

from typing import NotRequired, TypedDict

from shared.domain.events import TurnEnded
from shared.services.summarize_thread import PassOutcome


class BackgroundState(TypedDict):
    """One turn end. There are no messages in it: the thread's are read where they are needed and never written.

    Parameters
    ----------
    turn : TurnEnded
        The turn that ended.
    outcome : PassOutcome
        What the summary pass did; set by ``summarize`` when it ran.
    """

    turn: TurnEnded
    outcome: NotRequired[PassOutcome]
