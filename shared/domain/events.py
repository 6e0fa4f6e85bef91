"""The one event of the product: a turn has ended.

Publisher, consumer, EventBridge rule and contract test all read this module.
"""

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from shared.domain.ids import MessageId, RunId, ThreadId, UserId

SOURCE = "everthread.chat"
DETAIL_TYPE = "TurnEnded"

TurnOutcome = Literal["completed", "cancelled", "failed"]
"""How the turn ended. Every outcome that stored something is published."""


class TurnEnded(BaseModel):
    """A turn is over and its checkpoint is stored.

    Ids only: an entry of the bus may take 256 KB, and nothing a user said travels on it.

    Parameters
    ----------
    user_id, thread_id, run_id : str
        Whose turn it was, where, and which run made it.
    human_message_id : str
        The id of the turn's human message: the identity of the turn.
    human_count : int
        Human messages in the thread at the turn's end, so that a consumer can tell when its read is behind.
    ended_at : datetime
        When the turn ended, with a time zone.
    outcome : {'completed', 'cancelled', 'failed'}
        How it ended.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    user_id: UserId
    thread_id: ThreadId
    run_id: RunId
    human_message_id: MessageId = Field(min_length=1)
    human_count: int = Field(ge=1)
    ended_at: AwareDatetime
    outcome: TurnOutcome = "completed"
