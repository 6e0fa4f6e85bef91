"""Which turns a thread loses that is kept short by losing turns: one that was made with a destructive policy.

Threads are not, unless they were asked to be: summaries leave every message where it is.
"""

from collections.abc import Sequence

from shared.domain.turns import Turn


def turns_to_lose(turns: Sequence[Turn], *, keep_recent: int, buffer_turns: int) -> Sequence[Turn]:
    """Find the oldest turns, as many as a window has, once so many stand before the ones that stay.

    Whole turns go, so that what is left begins with a human message and has no result without its call (ST2-24).

    Parameters
    ----------
    turns : sequence of Turn
        The thread, with the current turn.
    keep_recent : int
        K of the seed: how many turns go at a time. Below 1 none do.
    buffer_turns : int
        B of the seed: how many of the newest turns stay; the current one always does.

    Returns
    -------
    sequence of Turn
        K turns or none. At least one turn stays.
    """
    old = turns[: max(0, len(turns) - max(buffer_turns, 1))]
    return old[:keep_recent] if 1 <= keep_recent <= len(old) else ()
