"""The user's profile: what was saved, what the account adds, and the one view the model sees."""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from shared.domain.ids import MessageId, ThreadId
from shared.domain.json_text import compact_json, has_utf8_form

MemoryDoc = dict[str, Any]
"""A flat object: profile key to any JSON value."""

OVERLAY_KEYS: Final = ("name", "email", "avatar", "socials")
"""What the account adds where nothing was saved, in the order it is shown (M02)."""


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


def overlay_from_claims(claims: Mapping[str, Any]) -> AccountOverlay:
    """Read the account from the claims of a verified ID token (decision 8).

    Parameters
    ----------
    claims : mapping
        As the authorizer hands them on: values may be strings that hold JSON. Never claims that nobody verified.

    Returns
    -------
    AccountOverlay
        The name; the e-mail address if it is verified; the picture unless it is a ``data:`` URI; the names of
        linked identity providers, of which nothing else is read. Anything of another shape counts as absent.
    """
    verified = claims.get("email_verified")
    return AccountOverlay(
        name=_text(claims.get("name")),
        email=_text(claims.get("email")) if verified is True or verified == "true" else None,
        avatar=_address(claims.get("picture")),
        socials=tuple(dict.fromkeys(_providers(claims.get("identities")))),
    )


def overlay_values(overlay: AccountOverlay) -> MemoryDoc:
    """Give what the account has to add, keyed as in the merged view. An empty string is a value (M05)."""
    values: MemoryDoc = {
        "name": overlay.name,
        "email": overlay.email,
        "avatar": overlay.avatar,
        "socials": [{"provider": provider} for provider in overlay.socials],
    }
    return {key: values[key] for key in OVERLAY_KEYS if values[key] is not None and values[key] != []}


def merge(stored: StoredProfile, overlay: AccountOverlay) -> MemoryDoc:
    """Make the one view of the profile: what was saved, and what the account adds where nothing was (M03–M06).

    Returns
    -------
    dict
        A deep copy; changing it changes neither input. Saved keys first, in the order they were saved.
    """
    merged = deepcopy(stored.doc)
    for key, value in overlay_values(overlay).items():
        if key not in merged and key not in stored.tombstones:
            merged[key] = value
    return merged


def store_keys(stored: StoredProfile) -> frozenset[str]:
    """Give the keys that were saved, as against those only the account has (M11)."""
    return frozenset(stored.doc)


def document_bytes(doc: Mapping[str, Any]) -> int:
    """Measure a document: UTF-8 bytes of :func:`~shared.domain.json_text.compact_json`."""
    return len(compact_json(doc).encode())


def key_label(key: str) -> str:
    """Write a key for people: ``travel_preferences`` as ``Travel Preferences``. The key itself stays (M13)."""
    return " ".join(word[:1].upper() + word[1:] for word in re.split(r"[_-]+", key) if word)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and has_utf8_form(value) else None


def _address(value: object) -> str | None:
    text = _text(value)
    # A picture in the token itself once blew a prompt to hundreds of thousands of tokens (M10).
    return None if text is None or text.lstrip().lower().startswith("data:") else text


def _providers(claim: object) -> Iterator[str]:
    for identity in _identities(claim):
        provider = _text(identity.get("providerName"))
        # The user pool's own accounts are no linked account (M08).
        if provider and provider.lower() != "cognito":
            yield provider


def _identities(claim: object) -> Iterator[Mapping[str, Any]]:
    """Read the claim: a list, or JSON text of a list, of one identity, or of several with commas between them."""
    if isinstance(claim, str):
        try:
            claim = json.loads(f"[{claim}]")
        except (ValueError, RecursionError):
            return
    if isinstance(claim, Mapping):
        yield cast("Mapping[str, Any]", claim)
    elif isinstance(claim, list):
        for part in cast("list[object]", claim):
            if isinstance(part, Mapping | list):
                yield from _identities(cast("object", part))
