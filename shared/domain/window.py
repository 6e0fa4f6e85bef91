"""Which turns the summaries of a thread cover, and which turns the next summary pass covers.

Turns are known by the ids of their human messages. An entry whose ids are no longer all in the thread (an edit, a
fork, a rollback) counts for nothing, and its turns are summarised again.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shared.domain.ids import MessageId
from shared.domain.summary import SummaryEntry


@dataclass(frozen=True, slots=True)
class Window:
    """A run of turns, by index and by identity.

    Parameters
    ----------
    start, end : int
        Zero-based human indices, both included.
    message_ids : tuple of str
        Ids of the human messages from ``start`` to ``end``.
    """

    start: int
    end: int
    message_ids: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the summaries of a thread stand for, as the thread is now.

    Parameters
    ----------
    end : int
        Index of the last turn of the unbroken run of covered turns that begins at the first; -1 when there is none.
        Trimming never goes past it.
    entries : tuple of SummaryEntry
        The entries whose turns are all in the thread, by sequence. They are what the prompt shows.
    """

    end: int = -1
    entries: tuple[SummaryEntry, ...] = ()


NO_COVERAGE = Coverage()
"""Of a thread without summaries, or one whose summaries could not be read: nothing is trimmed."""


def coverage(turn_ids: Sequence[MessageId], entries: Iterable[SummaryEntry]) -> Coverage:
    """Find out what entries cover.

    Parameters
    ----------
    turn_ids : sequence of str
        The identities of the thread's turns, in order.
    entries : iterable of SummaryEntry
        The thread's entries, in any order.
    """
    places = _places(turn_ids)
    valid = _valid(places, entries)
    return Coverage(_end_of_run(_covered(places, valid)), valid)


def next_window(
    turn_ids: Sequence[MessageId],
    entries: Iterable[SummaryEntry],
    *,
    keep_recent: int,
    last_answered: bool = True,
    fits: Callable[[Window], bool] | None = None,
) -> Window | None:
    """Find the turns that the next summary pass covers.

    The largest multiple of ``keep_recent`` turns that are not covered yet, from the first of them on; no further
    than the next turn that is covered already, when an entry in the middle was lost. Called without entries it
    tells whether reading them can lead to a pass at all (TR11).

    Parameters
    ----------
    turn_ids : sequence of str
        The identities of the thread's turns, in order.
    entries : iterable of SummaryEntry
        The thread's entries, in any order.
    keep_recent : int
        K of the seed. Below 1 there are no passes (TR12).
    last_answered : bool, optional
        Whether the last turn has its answer; one that has none is not summarised yet (HID-20).
    fits : callable, optional
        Whether the model can take a window in one pass. Must hold for each part of a window for which it holds. A
        window that does not fit is cut to a smaller multiple of ``keep_recent``, but never below one: what a single
        step of turns costs is bounded by the limits of the transcript, and no window would block the thread.

    Returns
    -------
    Window or None
        ``None`` when fewer than ``keep_recent`` turns wait.
    """
    waiting = list(turn_ids if last_answered else turn_ids[:-1])
    if keep_recent < 1 or len(waiting) < keep_recent:
        return None
    places = _places(turn_ids)
    covered = _covered(places, _valid(places, entries))
    start = _end_of_run(covered) + 1
    uncovered = len(waiting) - start
    if uncovered < keep_recent:
        return None
    gap = min((place for place in covered if place > start), default=len(waiting)) - start
    whole = min(uncovered - uncovered % keep_recent, gap)
    # A gap before a covered turn may be no multiple; it is filled whole if that fits.
    sizes = [*range(keep_recent, whole, keep_recent), whole]
    windows = [Window(start, start + size - 1, tuple(waiting[start : start + size])) for size in sizes]
    if fits is None:
        return windows[-1]
    return windows[max(0, bisect_left(windows, True, key=lambda window: not fits(window)) - 1)]


def window_key(window: Window) -> str:
    """Give the name under which equal windows, and only they, meet: the start and a digest of the ids.

    Keys of one thread sort by start.
    """
    digest = hashlib.sha256(json.dumps(window.message_ids).encode()).hexdigest()
    return f"{window.start:08d}-{digest}"


def turn_of_ref(number: int, turn_ids: Sequence[MessageId], entries: Iterable[SummaryEntry]) -> int | None:
    """Find the turn that ``#number`` means: by the id an entry has for it, by its place otherwise (RF02, RF07).

    Parameters
    ----------
    number : int
        One-based, as in refs.
    turn_ids : sequence of str
        The identities of the thread's turns, in order.
    entries : iterable of SummaryEntry
        The thread's entries; of those that do not fit the thread any more nothing is believed.

    Returns
    -------
    int or None
        Zero-based index of the turn as the thread is now; ``None`` when there is no such turn.
    """
    places = _places(turn_ids)
    index = number - 1
    for entry in reversed(_valid(places, entries)):
        if entry.start_message_index <= index <= entry.end_message_index:
            return places[entry.message_ids[index - entry.start_message_index]]
    return index if 0 <= index < len(turn_ids) else None


def _places(turn_ids: Sequence[MessageId]) -> dict[MessageId, int]:
    return {message_id: place for place, message_id in enumerate(turn_ids)}


def _valid(places: dict[MessageId, int], entries: Iterable[SummaryEntry]) -> tuple[SummaryEntry, ...]:
    valid = (entry for entry in entries if all(message_id in places for message_id in entry.message_ids))
    return tuple(sorted(valid, key=lambda entry: entry.sequence))


def _covered(places: dict[MessageId, int], entries: Iterable[SummaryEntry]) -> set[int]:
    return {places[message_id] for entry in entries for message_id in entry.message_ids}


def _end_of_run(covered: set[int]) -> int:
    end = -1
    while end + 1 in covered:
        end += 1
    return end
