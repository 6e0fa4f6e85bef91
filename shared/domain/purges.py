"""The request to remove what a deleted thread has left; the queue's adapter and its consumer read this module."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from shared.domain.ids import ThreadId, UserId, thread_id_or_none, user_id_or_none


def _legal_user(value: str) -> str:
    if user_id_or_none(value) is None:
        raise ValueError("no legal user id")
    return value


def _legal_thread(value: str) -> str:
    # As it is written in keys: a purge of another spelling would find nothing and call it done.
    if thread_id_or_none(value) != value:
        raise ValueError("no canonical thread id")
    return value


class ThreadPurge(BaseModel):
    """A deleted thread whose summaries and checkpoints are to go. Ids only.

    Parameters
    ----------
    version : int
        Of this message.
    user_id, thread_id : str
        Whose thread, and which.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    version: Literal[1] = 1
    user_id: Annotated[UserId, AfterValidator(_legal_user)]
    thread_id: Annotated[ThreadId, AfterValidator(_legal_thread)]
