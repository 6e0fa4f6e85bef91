"""The guard of a thread: which checkpoint is its head, whose lease is the newest, and whether it is gone.

Checkpoints are written under keys of their own, so two writers never meet there. They meet at the guard: a checkpoint
of the root namespace counts only from when the guard was moved to it, in one conditional write. What stands above the
guard's head was never accepted, and no reader takes it for the thread's newest.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from shared.adapters.dynamodb.checkpointer.keys import Place
from shared.adapters.dynamodb.checkpointer.table import CheckpointTable, ConditionFailedError, Item
from shared.adapters.dynamodb.items import StoredItem
from shared.adapters.dynamodb.schema import LEASE_NUMBER, STATE, TTL
from shared.domain.errors import ConflictError, LeaseLostError

_HEAD: Final = "head"
_DELETED: Final = "deleted"
_FILLING: Final = "filling"

_NAMES: Final = {"#head": _HEAD, "#lease": LEASE_NUMBER, "#state": STATE}

KEEP_DELETED: Final = timedelta(days=90)
"""How long a deleted thread refuses late writes: far longer than any writer may have been asleep."""


@dataclass(frozen=True, slots=True)
class GuardState:
    """What a guard says.

    Parameters
    ----------
    head : str or None
        The newest accepted checkpoint of the root namespace.
    lease : int
        The highest lease number that has written.
    deleted : bool
        Whether the thread was deleted.
    filling : bool
        Whether a copy of another thread is being made here and is not complete.
    """

    head: str | None = None
    lease: int = 0
    deleted: bool = False
    filling: bool = False

    @property
    def hidden(self) -> bool:
        """Whether the thread reads as empty."""
        return self.deleted or self.filling

    @classmethod
    def read(cls, stored: Item | None) -> "GuardState":
        """Read a guard's item; ``None`` stands for a thread that has none."""
        if stored is None:
            return cls()
        guard = StoredItem(stored)
        state = guard.text(STATE, "")
        return cls(guard.text_or_none(_HEAD), guard.number(LEASE_NUMBER, 0), state == _DELETED, state == _FILLING)


class Guard:
    """Guards of threads.

    Parameters
    ----------
    table : CheckpointTable
        Where they are.
    """

    def __init__(self, table: CheckpointTable) -> None:
        self._table = table

    def state(self, place: Place) -> GuardState:
        """Read a thread's guard."""
        return GuardState.read(self._table.get(place.guard))

    def check(self, place: Place, lease: int | None) -> None:
        """Look whether a run may write to the thread.

        Raises
        ------
        LeaseLostError
            When the thread is deleted, or a run with a higher lease number has written.
        ConflictError
            When the thread is being filled with a copy.
        """
        _refuse_unless_open(self.state(place), lease)

    def register(self, place: Place, lease: int) -> None:
        """Take a lease number down, so that runs with lower ones are refused from now on.

        Raises
        ------
        LeaseLostError, ConflictError
            As :meth:`check` does; nothing was written.
        """
        try:
            self._table.update(
                place.guard,
                expression="SET #lease = :lease, #schema = :schema",
                names=_NAMES_OF_LEASE,
                values={":lease": _number(lease)},
                condition=f"{_OPEN} AND {_LEASE_HIGHER}",
            )
        except ConditionFailedError as refused:
            _refuse_unless_open(GuardState.read(refused.current), lease)

    def move_head(
        self, place: Place, checkpoint: str, *, parent: str | None, lease: int | None, expires: int | None
    ) -> bool:
        """Make a checkpoint of the root namespace count, and the thread's head unless a newer one is.

        What follows the head is newer, even if its id is lower: ids are made of the clocks of different machines.

        Returns
        -------
        bool
            Whether it is the head.

        Raises
        ------
        LeaseLostError, ConflictError
            As :meth:`check` does; the head was not moved.
        """
        try:
            self._move_head(place, checkpoint, parent, lease, expires)
        except ConditionFailedError as refused:
            state = GuardState.read(refused.current)
            _refuse_unless_open(state, lease)
            # A branch from the past: it is there, and the newer head stays.
            if lease is not None and lease > state.lease:
                self.register(place, lease)
            return False
        return True

    def _move_head(
        self, place: Place, checkpoint: str, parent: str | None, lease: int | None, expires: int | None
    ) -> None:
        newer = "attribute_not_exists(#head) OR #head <= :head"
        expression = "SET #head = :head, #schema = :schema"
        values: dict[str, Any] = {":head": {"S": checkpoint}}
        names = dict(_NAMES)
        if parent is not None:
            newer += " OR #head = :parent"
            values[":parent"] = {"S": parent}
        condition = f"{_OPEN} AND ({newer})"
        if lease is None:
            del names["#lease"]
        else:
            condition += f" AND {_LEASE_NOT_LOWER}"
            expression += ", #lease = :lease"
            values[":lease"] = _number(lease)
        if expires is not None:
            expression += ", #ttl = :ttl"
            names["#ttl"] = TTL
            values[":ttl"] = _number(expires)
        self._table.update(place.guard, expression=expression, names=names, values=values, condition=condition)

    def mark_deleted(self, place: Place) -> GuardState:
        """Refuse every write from now on, and show the thread as empty; give what the guard said before."""
        expires = int((self._table.clock.now() + KEEP_DELETED).timestamp())
        before = self._table.update(
            place.guard,
            expression="SET #state = :state, #ttl = :ttl, #schema = :schema",
            names={"#state": STATE, "#ttl": TTL},
            values={":state": {"S": _DELETED}, ":ttl": _number(expires)},
            returned="ALL_OLD",
        )
        return GuardState.read(before)

    def drop_head(self, place: Place) -> None:
        """Forget which checkpoint was the head of a deleted thread: it is gone, and nothing is awaited any more."""
        self._table.update(
            place.guard, expression="SET #schema = :schema REMOVE #head", names={"#head": _HEAD}, values={}
        )

    def move_back(self, place: Place, head: str, to: str | None) -> None:
        """Move the head from a checkpoint that was removed to an older one; not if it has moved on meanwhile."""
        # An update that fails is no loss: the newest checkpoint below the head counts in any case.
        with suppress(ConditionFailedError):
            self._table.update(
                place.guard,
                expression="SET #schema = :schema" + (", #head = :to" if to else " REMOVE #head"),
                names={"#head": _HEAD},
                values={":head": {"S": head}} | ({":to": {"S": to}} if to else {}),
                condition="#head = :head",
            )

    def begin_filling(self, place: Place) -> None:
        """Hide an empty thread until :meth:`end_filling`.

        Raises
        ------
        ConflictError
            When the thread is deleted or has checkpoints.
        """
        try:
            self._table.update(
                place.guard,
                expression="SET #state = :filling, #schema = :schema",
                names={"#state": STATE, "#head": _HEAD},
                values={":filling": {"S": _FILLING}},
                condition="attribute_not_exists(#head) AND (attribute_not_exists(#state) OR #state = :filling)",
            )
        except ConditionFailedError:
            raise ConflictError("A thread can only be copied to one that never had checkpoints.") from None

    def end_filling(self, place: Place, head: str | None) -> None:
        """Show the thread with this head."""
        head_value = {":head": {"S": head}} if head else {}
        self._table.update(
            place.guard,
            expression="SET " + ("#head = :head, " if head else "") + "#schema = :schema REMOVE #state",
            names={"#state": STATE} | ({"#head": _HEAD} if head else {}),
            values=head_value,
        )


_OPEN: Final = "attribute_not_exists(#state)"
_LEASE_NOT_LOWER: Final = "(attribute_not_exists(#lease) OR #lease <= :lease)"
_LEASE_HIGHER: Final = "(attribute_not_exists(#lease) OR #lease < :lease)"
_NAMES_OF_LEASE: Final = {"#lease": LEASE_NUMBER, "#state": STATE}


def _number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def _refuse_unless_open(state: GuardState, lease: int | None) -> None:
    if state.deleted:
        raise LeaseLostError("The thread was deleted.")
    if state.filling:
        raise ConflictError("A copy of another thread is being made here.")
    if lease is not None and lease < state.lease:
        raise LeaseLostError(f"Lease {lease} was taken over by {state.lease}.")
