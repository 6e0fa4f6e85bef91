"""The user's profile: what was saved, what the account adds, and the one view the model sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.domain.ids import MessageId, ThreadId

MemoryDoc = dict[str, Any]
"""A flat object: profile key to any JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a profile key's present value was said.

    Parameters
    ----------
    thread_id, human_message_id, tool_call_id : str or None
        The thread, the turn and the call; ``None`` for a write that came over HTTP.
    at : datetime
        When, with a time zone.
    """

    at: datetime
    thread_id: ThreadId | None = None
    human_message_id: MessageId | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """The profile row as stored.

    Parameters
    ----------
    doc : dict
        What ``save_memory`` wrote.
    version : int
        0 when there is no row; every write adds one.
    tombstones : frozenset of str
        Overlay keys the model was asked to drop: the account does not fill them again.
    origins : mapping of str to Origin
        Per key of ``doc``.
    """

    doc: MemoryDoc = field(default_factory=dict[str, Any])
    version: int = 0
    tombstones: frozenset[str] = frozenset()
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChange:
    """One line of the profile's log: what a write did.

    Parameters
    ----------
    patches : tuple of dict
        The applied patches with the values they replaced, as echoed to the model.
    actor : str
        ``model`` (the tool) or ``user`` (the memory API).
    origin : Origin
        Where the write came from.
    """

    patches: tuple[Mapping[str, Any], ...]
    actor: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOverlay:
    """What the verified token says of the user.

    Parameters
    ----------
    name, email, avatar : str or None
        ``None`` when the account has none; a ``data:`` URI is no avatar.
    socials : tuple of str
        Names of linked identity providers, nothing else of them.
    """

    name: str | None = None
    email: str | None = None
    avatar: str | None = None
    socials: tuple[str, ...] = ()
