"""Refs: how the model and the user name turns. ``#n`` is one-based and global to the thread; ``#n-#m`` is a range.

Ranges are never expanded before they are cut: a model may write ``#1-#1000000`` (HID-25).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

MAX_EXPANDED: Final = 10_000
"""How many turns the refs of one stored entry can name at most; far above any window."""

# Up to nine digits: more than a thread can hold, and a bound on the work. Dashes as models and keyboards make them.
_REF: Final = re.compile(r"\s*#?\s*(?P<first>[0-9]{1,9})(?:\s*[-–—]\s*#?\s*(?P<last>[0-9]{1,9}))?\s*")


def turn_ranges(ref: str) -> Iterator[range | None]:
    """Read one string of refs, part by part between the commas.

    Yields
    ------
    range or None
        The turn numbers a part names, in ascending order; ``None`` for a part that is no ref. There is no ``#0``.
    """
    for part in ref.split(","):
        match = _REF.fullmatch(part)
        if match is None:
            yield None
            continue
        first = int(match["first"])
        last = int(match["last"] or first)
        yield range(max(min(first, last), 1), max(first, last) + 1) or None


def parse_refs(refs: str | Iterable[str], *, limit: int) -> list[int]:
    """Read refs from untrusted input.

    Parameters
    ----------
    refs : str or iterable of str
        ``#3``, ``3``, ``#3-#5``, ``3-5``, ``#5-#3``, alone or separated by commas. Parts that are no refs are
        passed over.
    limit : int
        How many turns may be named; what is named after them is left out.

    Returns
    -------
    list of int
        Turn numbers, each once, ascending.
    """
    numbers = chain.from_iterable(
        numbers for ref in ([refs] if isinstance(refs, str) else refs) for numbers in turn_ranges(ref) if numbers
    )
    return sorted(islice(_once(numbers), limit))


def expand_refs(refs: Iterable[str]) -> list[int]:
    """Give the turn numbers that the refs of an entry name, each once, ascending."""
    return parse_refs(refs, limit=MAX_EXPANDED)


def refs_text(numbers: Iterable[int]) -> list[str]:
    """Write turn numbers as refs: ``#n`` for one, ``#n-#m`` for a run of neighbours."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"#{run[0]}" if len(run) == 1 else f"#{run[0]}-#{run[-1]}" for run in runs]


def with_hash(ref: str) -> str:
    """Write one ref as it is shown: each number with its ``#``, which old rows may lack (RF05)."""
    parts = (part.strip() for part in ref.split(","))
    return ", ".join(_shown(part) for part in parts if part)


def _shown(part: str) -> str:
    match = _REF.fullmatch(part)
    if match is None:
        return part if part.startswith("#") else f"#{part}"
    return "-".join(f"#{int(number)}" for number in match.groups() if number is not None)


def _once(numbers: Iterable[int]) -> Iterator[int]:
    seen: set[int] = set()
    for number in numbers:
        if number not in seen:
            seen.add(number)
            yield number
