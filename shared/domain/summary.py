"""What a summary pass leaves behind: one immutable entry per window, holding questions, answers and refs.

No LangChain here: the memory API reads this module and must start fast.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from shared.domain.ids import MessageId, ThreadId

NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionAnswer(BaseModel):
    """One topic of the covered turns.

    Parameters
    ----------
    question : str
        What the user wanted.
    answer : str
        What came of it.
    refs : list of str
        The turns it speaks of: ``#n``, one-based and global to the thread, or ranges ``#n-#m``.
    """

    model_config = ConfigDict(frozen=True)

    question: NonEmpty
    answer: NonEmpty
    refs: Annotated[list[NonEmpty], Field(min_length=1)]


class SummaryOutput(BaseModel):
    """What the model is asked for, stored as it came (seed: "stored verbatim")."""

    model_config = ConfigDict(frozen=True)

    entries: list[QuestionAnswer]


class SummaryEntry(BaseModel):
    """One summary pass over one window of one thread. Immutable: there is no way to update one.

    Parameters
    ----------
    thread_id : str
        The thread.
    sequence : int
        1 for the first pass of the thread, then counting up.
    start_message_index, end_message_index : int
        Zero-based indices of the first and last covered **human** message, both included.
    message_count : int
        Covered human messages: ``end - start + 1``.
    message_ids : list of str
        Ids of the covered human messages, in order. They, not the indices, say what is covered.
    summary : SummaryOutput
        The model's answer.
    trigger_reason : {'turn_based', 'token_based'}
        Why the pass ran. Only ``turn_based`` is made today.
    token_count_before, token_count_after : int
        ``ceil(characters / 4)`` of the excerpt and of the formatted summary. For analytics only.
    created_at : datetime
        With a time zone.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, alias_generator=None)

    thread_id: Annotated[ThreadId, Field(min_length=1)]
    sequence: Annotated[int, Field(ge=1)]
    start_message_index: Annotated[int, Field(ge=0)]
    end_message_index: Annotated[int, Field(ge=0)]
    message_count: Annotated[int, Field(ge=0)]
    message_ids: list[Annotated[MessageId, Field(min_length=1)]]
    summary: SummaryOutput
    trigger_reason: Literal["turn_based", "token_based"] = "turn_based"
    token_count_before: Annotated[int, Field(ge=0)]
    token_count_after: Annotated[int, Field(ge=0)]
    created_at: AwareDatetime

    @model_validator(mode="after")
    def _counts_agree(self) -> "SummaryEntry":
        if self.message_count != self.end_message_index - self.start_message_index + 1:
            raise ValueError("message_count must equal end_message_index - start_message_index + 1")
        if len(self.message_ids) != self.message_count:
            raise ValueError("message_ids must hold one id per covered human message")
        return self


class SummaryRows(BaseModel):
    """What a reader found: the rows that could be understood, and how many could not.

    Parameters
    ----------
    entries : sequence of SummaryEntry
        Ordered by thread, then by sequence as a number.
    corrupt : int
        Rows that failed validation and were skipped. They are still purged.
    highest_sequence : int
        The highest sequence of any row, corrupt ones included, so that the next pass takes a free key. 0 if none.
    """

    model_config = ConfigDict(frozen=True)

    entries: Sequence[SummaryEntry] = ()
    corrupt: int = 0
    highest_sequence: int = 0
