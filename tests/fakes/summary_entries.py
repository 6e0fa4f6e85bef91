"""Summary entries for threads that tests make up."""

from collections.abc import Sequence
from datetime import UTC, datetime

from shared.domain.ids import MessageId, ThreadId
from shared.domain.summary import QuestionAnswer, SummaryEntry, SummaryOutput


def summary_entry(
    thread: ThreadId,
    message_ids: Sequence[str],
    *,
    start: int = 0,
    sequence: int = 1,
    question: str = "What was asked?",
    answer: str = "What came of it.",
    refs: Sequence[str] | None = None,
) -> SummaryEntry:
    """Give the entry of one pass over the turns of ``message_ids``, the first of which is turn ``start``."""
    end = start + len(message_ids) - 1
    topic = QuestionAnswer(question=question, answer=answer, refs=list(refs or [f"#{start + 1}-#{end + 1}"]))
    return SummaryEntry(
        thread_id=thread,
        sequence=sequence,
        start_message_index=start,
        end_message_index=end,
        message_count=len(message_ids),
        message_ids=[MessageId(message_id) for message_id in message_ids],
        summary=SummaryOutput(entries=[topic]),
        token_count_before=100,
        token_count_after=10,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
