"""Patches: how the model changes the profile, and what it is told that it changed.

A list of patches is applied in order to a running copy of the merged view, all of it or nothing. What is stored
afterwards are the keys that were stored before and those that a patch named, so that the account's own values are
not copied into memory.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from jsonpatch import JsonPatch, JsonPatchConflict
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from shared.domain.errors import InvalidKeyError, MemoryPatchError, MemorySizeError, NotFoundError
from shared.domain.profile import (
    AccountOverlay,
    MemoryDoc,
    Origin,
    ProfileChange,
    StoredProfile,
    document_bytes,
    merge,
    overlay_values,
)
from shared.domain.values import value_fault

MAX_PATCHES: Final = 50
"""How many patches one call may hold (SM06)."""

KEY_MAX_CHARS: Final = 64

_KEY: Final = re.compile(rf"[^\W\d][\w-]{{0,{KEY_MAX_CHARS - 1}}}")
_MARKS: Final = ("Mn", "Mc")

# They mean something to a JavaScript client that reads the profile into an object (HID-16).
_REFUSED_KEYS: Final = frozenset({"__proto__", "constructor", "prototype"})


class Patch(BaseModel):
    """One change to one key of the profile; an operation of RFC 6902 on a path of one step.

    Parameters
    ----------
    op : {'add', 'replace', 'remove'}
        ``add`` sets the key whether or not it is there; the others need it to be there.
    path : str
        ``/`` and the key.
    value : any JSON value, optional
        Must be given for ``add`` and ``replace``, may be ``null``; must not be for ``remove``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op: Literal["add", "replace", "remove"]
    path: str = Field(description="A slash and one key, for example /travel_preferences.")
    value: Any = Field(default=None, description="The new value, any JSON; required unless op is remove.")

    @field_validator("path")
    @classmethod
    def _path_is_a_key(cls, path: str) -> str:
        if not path.startswith("/"):
            raise ValueError("a path is a slash and one key")
        try:
            check_profile_key(path[1:])
        except InvalidKeyError as error:
            # pydantic reports only its own kinds of error.
            raise ValueError(str(error)) from error
        return path

    @model_validator(mode="after")
    def _value_fits_the_operation(self) -> Self:
        if self.op == "remove":
            # Models that fill in every field send null here.
            if self.value is not None:
                raise ValueError("remove takes no value")
        elif "value" not in self.model_fields_set:
            raise ValueError(f"{self.op} needs a value")
        return self

    @property
    def key(self) -> str:
        """The key as it is stored."""
        return check_profile_key(self.path[1:])


PatchList = Annotated[list[Patch], Field(max_length=MAX_PATCHES)]
"""The input of ``save_memory``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a list of patches comes to.

    Parameters
    ----------
    profile : StoredProfile or None
        What to store, one version on; ``None`` when there is nothing to write.
    change : ProfileChange or None
        The line of the log that goes with it.
    result : dict
        What the model is told: ``ok``, ``bytes``, ``keyCount``, ``before``, ``after``, ``patches`` (SM15–SM18).
    """

    profile: StoredProfile | None
    change: ProfileChange | None
    result: dict[str, Any]


def check_profile_key(key: str) -> str:
    """Read a profile key.

    Parameters
    ----------
    key : str
        Without the slash of a path.

    Returns
    -------
    str
        The key in Unicode's NFC form, so that keys that look alike are alike.

    Raises
    ------
    InvalidKeyError
        When it is not a letter or underscore followed by at most 63 letters, digits, underscores and hyphens, of
        any script, or when it is a name that means something to JavaScript.
    """
    normal = unicodedata.normalize("NFC", key)
    # A vowel sign is part of a letter in many scripts, which \w does not know.
    letters = "".join("_" if unicodedata.category(char) in _MARKS else char for char in normal[1:])
    if not _KEY.fullmatch(normal[:1] + letters):
        raise InvalidKeyError(
            f"A key is a letter or underscore and at most {KEY_MAX_CHARS - 1} letters, digits, underscores or hyphens."
        )
    if normal in _REFUSED_KEYS:
        raise InvalidKeyError(f"{normal} is no key.")
    return normal


def apply(
    stored: StoredProfile,
    overlay: AccountOverlay,
    patches: Sequence[Patch],
    *,
    max_bytes: int,
    origin: Origin,
    actor: str = "model",
) -> Outcome:
    """Work out what patches do to a profile. Changes no input and writes nothing.

    Parameters
    ----------
    stored : StoredProfile
        The profile as read.
    overlay : AccountOverlay
        What the account adds: patches act on the merged view (SM07).
    patches : sequence of Patch
        At most ``MAX_PATCHES``; none is a success that writes nothing.
    max_bytes : int
        The limit of the stored document; what the account adds does not count (SM14).
    origin : Origin
        Where the patches were said; kept for each key they set.
    actor : str, optional
        Who is at work, for the log.

    Raises
    ------
    MemoryPatchError
        When there are too many, when ``replace`` or ``remove`` meets a key that is not there at that point in the
        list, or when a value has no place in a profile. Nothing of the list counts then (SM10).
    MemorySizeError
        When the document would be over the limit.
    """
    if len(patches) > MAX_PATCHES:
        raise MemoryPatchError(f"One call may hold {MAX_PATCHES} patches, not {len(patches)}.")
    before = merge(stored, overlay)
    if not patches:
        return Outcome(profile=None, change=None, result=_result(stored, overlay, before, ()))
    view, echo = _run(before, patches)
    profile = _store(stored, overlay, view, {patch.key for patch in patches}, origin)
    size = document_bytes(profile.doc)
    if size > max_bytes:
        raise MemorySizeError(size, max_bytes)
    change = ProfileChange(patches=tuple(deepcopy(echo)), actor=actor, origin=origin)
    return Outcome(profile=profile, change=change, result=_result(profile, overlay, before, echo))


def forget_key(stored: StoredProfile, key: str, origin: Origin) -> tuple[StoredProfile, ProfileChange]:
    """Remove one saved key on the user's own wish.

    The account's value of that key, if it has one, shows again. No limit applies: deleting is always possible.

    Parameters
    ----------
    stored : StoredProfile
        The profile as read.
    key : str
        Without the slash of a path.
    origin : Origin
        Where the wish came from.

    Raises
    ------
    InvalidKeyError
        When :func:`check_profile_key` refuses the key.
    NotFoundError
        When it was not saved; a key that only the account has cannot be forgotten here (AP06).
    """
    name = check_profile_key(key)
    if name not in stored.doc:
        raise NotFoundError("There is no such memory.")
    echo = {"op": "remove", "path": f"/{name}", "key": name, "oldValue": deepcopy(stored.doc[name])}
    profile = StoredProfile(
        doc={kept: deepcopy(value) for kept, value in stored.doc.items() if kept != name},
        version=stored.version + 1,
        tombstones=stored.tombstones,
        origins={kept: said for kept, said in stored.origins.items() if kept != name},
    )
    return profile, ProfileChange(patches=(echo,), actor="user", origin=origin)


def _run(before: MemoryDoc, patches: Sequence[Patch]) -> tuple[MemoryDoc, list[dict[str, Any]]]:
    """Apply patches to a copy of the merged view; give the view afterwards and the echo of each patch.

    Existence and old values are those of the running view (SM18): a key that was added a patch ago can be replaced,
    one that was removed a patch ago cannot.
    """
    view = deepcopy(before)
    echo: list[dict[str, Any]] = []
    for number, patch in enumerate(patches, start=1):
        key = patch.key
        operation: dict[str, Any] = {"op": patch.op, "path": f"/{key}"}
        done: dict[str, Any] = {"op": patch.op, "path": patch.path, "key": key}
        if key in view:
            done["oldValue"] = view[key]
        if patch.op != "remove":
            if fault := value_fault(patch.value):
                raise _refusal(number, patch, fault)
            operation["value"] = deepcopy(patch.value)
            done["value"] = deepcopy(patch.value)
        try:
            JsonPatch([operation]).apply(view, in_place=True)
        except JsonPatchConflict as error:
            raise _refusal(number, patch, "there is no such key at this point") from error
        echo.append(done)
    return view, echo


def _refusal(number: int, patch: Patch, reason: str) -> MemoryPatchError:
    return MemoryPatchError(f"Patch {number} ({patch.op} {patch.path}): {reason}. Nothing was saved.")


def _store(
    stored: StoredProfile, overlay: AccountOverlay, view: MemoryDoc, named: set[str], origin: Origin
) -> StoredProfile:
    """Keep of the view what memory owns: keys saved before and keys that a patch named (SM11)."""
    doc = {key: value for key, value in view.items() if key in stored.doc or key in named}
    # Without a tombstone the account would fill a removed key again, and the model would have been told a lie.
    removed = named & overlay_values(overlay).keys() - view.keys()
    said = dict(stored.origins) | dict.fromkeys(named, origin)
    return StoredProfile(
        doc=doc,
        version=stored.version + 1,
        tombstones=(stored.tombstones | removed) - doc.keys(),
        origins={key: said[key] for key in doc if key in said},
    )


def _result(
    profile: StoredProfile, overlay: AccountOverlay, before: MemoryDoc, echo: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "ok": True,
        "bytes": document_bytes(profile.doc),
        "keyCount": len(profile.doc),
        "before": before,
        # Merged anew, so that it is what the next turn reads.
        "after": merge(profile, overlay),
        "patches": list(echo),
    }
