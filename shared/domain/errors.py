"""Every error the product raises on purpose, each with the code that clients see.

The codes are part of the API: ``shared.adapters.http`` maps them to a status and a body, and the
``save_memory`` tool hands them to the model.
"""

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar


class EverthreadError(Exception):
    """The base of all errors raised on purpose.

    Attributes
    ----------
    code : str
        What a client may switch on. Never changes for a given class.
    retryable : bool
        Whether the same call may succeed later without anything being changed by the caller.
    retry_after : int
        After how many seconds it is worth a try, if it is retryable.
    """

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False
    retry_after: int = 1

    @property
    def details(self) -> Mapping[str, int]:
        """What a client may be told beside code and message, by the name that it has in a body."""
        return {}


class InvalidInputError(EverthreadError):
    """What the caller sent does not fit; the message says what and why."""

    code = "BAD_REQUEST"


class InvalidIdError(InvalidInputError):
    """An identifier (user, thread, run, document) has no legal form."""


class NotJsonError(InvalidInputError):
    """A value would not come back from JSON as it went in.

    Parameters
    ----------
    path : str
        Where in the value, for example ``$.likes[2]``.
    reason : str
        What stands there.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} cannot be stored as it is: {reason}.")
        self.path = path


class InvalidKeyError(InvalidInputError):
    """A profile key has no legal form."""

    code = "BAD_KEY"


class MissingUserIdError(EverthreadError):
    """A write was asked for without an identity. Raised before anything is written."""

    code = "MISSING_USER_ID"


class MemoryPatchError(EverthreadError):
    """A patch list that cannot be applied as a whole; nothing was written."""

    code = "PATCH_FAILED"


class MemorySizeError(EverthreadError):
    """The profile would outgrow its limit; nothing was written.

    Parameters
    ----------
    attempted_bytes : int
        UTF-8 bytes of the compact JSON of the profile that was refused.
    max_bytes : int
        The limit, in the same measure.
    """

    code = "MEMORY_SIZE_EXCEEDED"

    def __init__(self, attempted_bytes: int, max_bytes: int) -> None:
        super().__init__(f"The profile would take {attempted_bytes} bytes; the limit is {max_bytes}.")
        self.attempted_bytes = attempted_bytes
        self.max_bytes = max_bytes


class NotFoundError(EverthreadError):
    """There is no such thing, or it belongs to somebody else: one answer for both."""

    code = "NOT_FOUND"


class ThreadNotFoundError(NotFoundError):
    """No such thread for this user."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"Thread with ID {thread_id} not found")
        self.thread_id = thread_id


class ConflictError(EverthreadError):
    """The thing exists already or is in use."""

    code = "CONFLICT"


class ThreadExistsError(ConflictError):
    """A thread with this id exists, or existed and was deleted: ids are not reused."""

    code = "THREAD_EXISTS"


class ThreadDeletedError(ThreadExistsError):
    """A thread with this id was deleted. Who wants to talk on makes a new one."""

    code = "THREAD_DELETED"

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"Thread {thread_id} was deleted, and its id stays taken: use a new one.")
        self.thread_id = thread_id


class ThreadBusyError(ConflictError):
    """Another run holds the thread's lease.

    Parameters
    ----------
    message : str
        What to say.
    lasts : timedelta
        How much longer the lease lasts, unless it is renewed.
    """

    code = "THREAD_BUSY"
    retryable = True

    def __init__(self, message: str, lasts: timedelta = timedelta(0)) -> None:
        super().__init__(message)
        self.retry_after = max(1, math.ceil(lasts.total_seconds()))


class VersionConflictError(ConflictError):
    """Somebody else wrote first; read again and retry."""

    code = "VERSION_CONFLICT"
    retryable = True


class LeaseLostError(ConflictError):
    """The run no longer holds the thread: its lease ran out and was taken over, or the thread is being deleted."""

    code = "LEASE_LOST"


class ClaimLostError(ConflictError):
    """The summary pass no longer holds its window: the claim ran out, was taken over or was forgotten."""

    code = "CLAIM_LOST"


class StoreError(EverthreadError):
    """The database could not be read or written. Not the same as: nothing is there."""

    code = "STORE_UNAVAILABLE"
    retryable = True


class ItemTooLargeError(EverthreadError):
    """One item is over what the database takes.

    Parameters
    ----------
    size : int
        Bytes of the item that was refused.
    limit : int
        Bytes the database takes for one item.
    """

    code = "ITEM_TOO_LARGE"

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(f"{what} takes {size} bytes; one item may take {limit}.")
        self.size = size
        self.limit = limit


class CorruptItemError(EverthreadError):
    """A stored item cannot be understood. Counted and, by the readers that say so, skipped."""

    code = "CORRUPT_ITEM"


class CorruptCheckpointError(CorruptItemError):
    """A checkpoint cannot be read as it was written: something of it is missing or cannot be understood.

    Parameters
    ----------
    thread_id, checkpoint_id : str
        Which checkpoint.
    why : str
        What is wrong; nothing of the content.
    """

    code = "CORRUPT_CHECKPOINT"

    def __init__(self, thread_id: str, checkpoint_id: str, why: str) -> None:
        super().__init__(f"Checkpoint {checkpoint_id} of thread {thread_id} cannot be read: {why}")
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id
        self.why = why


class ModelError(EverthreadError):
    """The language model gave no usable answer."""

    code = "MODEL_ERROR"


class ModelThrottledError(ModelError):
    """The model is over its quota at the moment."""

    code = "MODEL_THROTTLED"
    retryable = True


class ModelTimeoutError(ModelError):
    """The model did not answer in time."""

    code = "MODEL_TIMEOUT"
    retryable = True


class ModelUnavailableError(ModelError):
    """The model's service fails at the moment."""

    code = "MODEL_UNAVAILABLE"
    retryable = True


class ModelRefusedError(ModelError):
    """The model refused the request: content policy, or an input that it does not take."""

    code = "MODEL_REFUSED"


class ModelForbiddenError(ModelError):
    """The product may not use the model, or there is no such model: whoever runs the product has to see to it."""

    code = "MODEL_FORBIDDEN"


class EventAheadOfCheckpointError(EverthreadError):
    """A turn-end event arrived before the checkpoint it speaks of could be read. Redelivery settles it."""

    code = "EVENT_AHEAD_OF_CHECKPOINT"
    retryable = True


class SourceUnavailableError(EverthreadError):
    """A public source of data gave no usable answer."""

    code = "SOURCE_UNAVAILABLE"
    retryable = True


class MalformedEventError(InvalidInputError):
    """An event or a queued message that no version of the code understands. Redelivery will not help."""

    code = "MALFORMED_EVENT"
