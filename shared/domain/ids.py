"""What a legal user, thread, run and document id is, and how one is read from untrusted input.

Identity is never a default: a parser either returns a value of its own type or says that there is none.
"""

import re
from typing import NewType
from uuid import UUID

from shared.domain.errors import InvalidIdError, MissingUserIdError

UserId = NewType("UserId", str)
"""The ``sub`` of the verified token. A UUID on Cognito; any string that is a legal namespace label is taken."""

ThreadId = NewType("ThreadId", str)
"""A UUID in its canonical lower-case form."""

RunId = NewType("RunId", str)
"""A UUID in its canonical lower-case form."""

DocumentId = NewType("DocumentId", str)
"""``d-`` followed by a UUID in its canonical lower-case form."""

MessageId = NewType("MessageId", str)
"""Whatever the client or the model gave the message; unique within a thread."""

_USER_ID = re.compile(r"[^\s.\x00-\x1f\x7f]{1,128}")


def user_id_or_none(value: object) -> UserId | None:
    """Read a user id defensively.

    Parameters
    ----------
    value : object
        Whatever stood where a user id was expected.

    Returns
    -------
    UserId or None
        ``None`` for anything but a non-empty string that may stand as a namespace label (no ``.``, no white
        space, not ``langgraph``; LangGraph's own rules for labels).
    """
    if isinstance(value, str) and _USER_ID.fullmatch(value) and value != "langgraph":
        return UserId(value)
    return None


def require_user_id(value: object) -> UserId:
    """Read a user id where one must be.

    Raises
    ------
    MissingUserIdError
        When :func:`user_id_or_none` finds none.
    """
    user = user_id_or_none(value)
    if user is None:
        raise MissingUserIdError("No user id in the verified configuration.")
    return user


def _canonical_uuid(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        canonical = str(UUID(value))
    except ValueError:
        return None
    # UUID() also takes braces, "urn:uuid:" and missing hyphens; one thread must have one id.
    return canonical if canonical == value.lower() else None


def thread_id_or_none(value: object) -> ThreadId | None:
    """Read a thread id defensively; ``None`` for anything but a hyphenated UUID, in either case of letters."""
    canonical = _canonical_uuid(value)
    return None if canonical is None else ThreadId(canonical)


def parse_thread_id(value: object) -> ThreadId:
    """Read a thread id from a request.

    Raises
    ------
    InvalidIdError
        When it is not a hyphenated UUID.
    """
    thread = thread_id_or_none(value)
    if thread is None:
        raise InvalidIdError("A thread id is a UUID with hyphens.")
    return thread


def parse_run_id(value: object) -> RunId:
    """Read a run id from a request.

    Raises
    ------
    InvalidIdError
        When it is not a hyphenated UUID.
    """
    canonical = _canonical_uuid(value)
    if canonical is None:
        raise InvalidIdError("A run id is a UUID with hyphens.")
    return RunId(canonical)


def parse_document_id(value: object) -> DocumentId:
    """Read a document id from a request.

    Raises
    ------
    InvalidIdError
        When it is not ``d-`` and a hyphenated UUID.
    """
    canonical = _canonical_uuid(value[2:]) if isinstance(value, str) and value.startswith("d-") else None
    if canonical is None:
        raise InvalidIdError("A document id is 'd-' followed by a UUID with hyphens.")
    return DocumentId(f"d-{canonical}")
