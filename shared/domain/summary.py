"""What a summary pass leaves behind: one immutable entry per window, holding questions, answers and refs.

No LangChain here: the memory API reads this module and must start fast.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from shared.domain.ids import MessageId, ThreadId
from shared.domain.refs import expand_refs, refs_text, turn_ranges, with_hash

if TYPE_CHECKING:
    # Windows are found from entries, so that module reads this one.
    from shared.domain.window import Window

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

    model_config = ConfigDict(frozen=True)

    thread_id: Annotated[ThreadId, Field(min_length=1)]
    sequence: Annotated[int, Field(ge=1)]
    start_message_index: Annotated[int, Field(ge=0)]
    end_message_index: Annotated[int, Field(ge=0)]
    message_count: Annotated[int, Field(ge=1)]
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


def format_entries(entries: Iterable[QuestionAnswer]) -> str:
    """Render the entries of one pass: the one formatter, for the prompt and for what the user sees (P10, P12)."""
    return "\n\n".join(
        f"{', '.join(with_hash(ref) for ref in entry.refs)}\nQ: {entry.question}\nA: {entry.answer}"
        for entry in entries
    )


def format_passes(passes: Iterable[SummaryEntry]) -> str:
    """Render all passes of a thread, first pass first, a blank line between them (P10, P11)."""
    return "\n\n".join(
        format_entries(entry.summary.entries) for entry in sorted(passes, key=lambda entry: entry.sequence)
    )


def refs_within(output: SummaryOutput, window: "Window") -> tuple[SummaryOutput, int]:
    """Keep of a model's refs what can be true (RF08).

    Parameters
    ----------
    output : SummaryOutput
        The model's answer.
    window : Window
        The turns it was shown.

    Returns
    -------
    SummaryOutput
        The answer as it came where its refs hold. Refs that are malformed or name turns outside the window are
        dropped, repeats are joined, and an entry that is left without any ref goes too: it speaks of no turn of
        this window.
    int
        How many refs were dropped, in whole or in part.
    """
    shown = range(window.start + 1, window.end + 2)
    kept: list[QuestionAnswer] = []
    dropped = 0
    for entry in output.entries:
        refs, bad = _refs_within(entry.refs, shown)
        dropped += bad
        if refs:
            kept.append(entry if refs == entry.refs else entry.model_copy(update={"refs": refs}))
    return output.model_copy(update={"entries": kept}), dropped


def turns_covered(output: SummaryOutput) -> set[int]:
    """Give the numbers of the turns that an answer speaks of, so that a pass that skips most can be told (HID-19)."""
    return {number for entry in output.entries for number in expand_refs(entry.refs)}


def estimate_tokens(text: str) -> int:
    """Estimate tokens as ``ceil(characters / 4)`` (TP15)."""
    return -(-len(text) // 4)


def _refs_within(refs: Sequence[str], shown: range) -> tuple[list[str], int]:
    kept: list[str] = []
    seen: set[int] = set()
    dropped = 0
    for ref in refs:
        ranges = list(turn_ranges(ref))
        bad = sum(numbers is None or not _inside(numbers, shown) for numbers in ranges)
        new = {number for numbers in ranges if numbers for number in _common(numbers, shown)} - seen
        whole = not bad and len(new) == sum(len(numbers) for numbers in ranges if numbers)
        if new:
            kept.extend([ref] if whole else refs_text(new))
        seen |= new
        dropped += bad
    return kept, dropped


def _inside(numbers: range, shown: range) -> bool:
    return shown.start <= numbers.start and numbers.stop <= shown.stop


def _common(numbers: range, shown: range) -> range:
    return range(max(numbers.start, shown.start), min(numbers.stop, shown.stop))
