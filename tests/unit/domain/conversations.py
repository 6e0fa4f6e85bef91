"""Threads and summary entries as the domain's tests write them down."""

from collections.abc import Sequence
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from shared.domain.ids import MessageId, ThreadId
from shared.domain.summary import QuestionAnswer, SummaryEntry, SummaryOutput

THREAD = ThreadId("0c0d7a51-2f9d-4f0e-9a3b-5a3a7a0f8d10")
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def ids(count: int, *, prefix: str = "m") -> list[MessageId]:
    """The ids of the first turns of a thread: m0, m1 …"""
    return [MessageId(f"{prefix}{index}") for index in range(count)]


def spoken(count: int) -> list[AnyMessage]:
    """A thread of answered turns: m0 and its answer, m1 and its answer …"""
    return [
        message
        for index in range(count)
        for message in (
            HumanMessage(f"question {index}", id=f"m{index}"),
            AIMessage(f"answer {index}", id=f"a{index}"),
        )
    ]


def called(*call_ids: str, content: str | list[str | dict[str, object]] = "") -> AIMessage:
    """A message of the model that calls a tool once per id."""
    return AIMessage(content, tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": id_} for id_ in call_ids])


def result(call_id: str, content: str = "4 degrees") -> ToolMessage:
    return ToolMessage(content, tool_call_id=call_id)


def entry(
    start: int,
    end: int,
    *,
    sequence: int = 1,
    message_ids: Sequence[str] | None = None,
    refs: Sequence[str] | None = None,
    question: str = "What was asked?",
    answer: str = "What was found.",
) -> SummaryEntry:
    """The entry of a pass over the turns from ``start`` to ``end``."""
    covered = message_ids or [f"m{index}" for index in range(start, end + 1)]
    summary = SummaryOutput(
        entries=[
            QuestionAnswer(
                question=question, answer=answer, refs=list(refs or [f"#{n + 1}" for n in range(start, end + 1)])
            )
        ]
    )
    return SummaryEntry(
        thread_id=THREAD,
        sequence=sequence,
        start_message_index=start,
        end_message_index=end,
        message_count=end - start + 1,
        message_ids=[MessageId(id_) for id_ in covered],
        summary=summary,
        token_count_before=100,
        token_count_after=10,
        created_at=NOON,
    )
