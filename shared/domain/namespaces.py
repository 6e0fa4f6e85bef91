"""Where a user's memory stands in the store: namespaces and item keys, the seed's own (ST01, ST02).

Every namespace starts with the user, so no call can reach across users. No two things share a key; the encoding of
``shared.adapters.dynamodb.schema`` keeps it so in the table.
"""

import re
from typing import Final

from shared.domain.ids import ThreadId, UserId

Namespace = tuple[str, ...]
"""Labels as LangGraph's ``BaseStore`` takes them."""

MEMORY: Final = "memory"
LOG: Final = "log"
THREADS: Final = "threads"

MEMORY_KEY: Final = "main"
"""The key of the profile within :func:`memory_namespace`."""

_LOG_KEY_DIGITS: Final = 12
_SUMMARY_KEY: Final = re.compile(r"(?P<thread>.+):(?P<sequence>[1-9][0-9]{0,17})", re.DOTALL)


def memory_namespace(user: UserId) -> Namespace:
    """Give the namespace of the user's profile."""
    return (user, MEMORY)


def memory_log_namespace(user: UserId) -> Namespace:
    """Give the namespace of the log of what changed the profile."""
    return (user, MEMORY, LOG)


def log_key(version: int) -> str:
    """Give the key of the log line that made a version; keys sort as the versions do.

    Raises
    ------
    ValueError
        When the version is not one a write can make.
    """
    if not 0 < version < 10**_LOG_KEY_DIGITS:
        raise ValueError(f"No write makes version {version}.")
    return f"{version:0{_LOG_KEY_DIGITS}}"


def threads_namespace(user: UserId) -> Namespace:
    """Give the namespace of the summary entries of all of the user's threads."""
    return (user, THREADS)


def summary_key(thread: ThreadId, sequence: int) -> str:
    """Give the key of one summary entry. Keys do not sort as sequences do (``:10`` before ``:2``): sort the numbers.

    Raises
    ------
    ValueError
        When the sequence is below 1.
    """
    if sequence < 1:
        raise ValueError(f"Sequences start at 1, not at {sequence}.")
    return f"{thread}:{sequence}"


def parse_summary_key(key: str) -> tuple[ThreadId, int] | None:
    """Give back what :func:`summary_key` was given, or ``None`` for a key that it never makes."""
    match = _SUMMARY_KEY.fullmatch(key)
    return None if match is None else (ThreadId(match["thread"]), int(match["sequence"]))
