"""The replies of the memory API, in the names the seed's page reads."""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shared.domain.namespaces import summary_key
from shared.domain.summary import SummaryEntry, format_entries
from shared.services.manage_memory import MemoryView, ThreadPasses


class Body(BaseModel):
    """A JSON object with camelCase names."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True, frozen=True)


class RequestBody(Body):
    """What a client sends. A field that nobody knows is an error rather than an option without effect."""

    model_config = ConfigDict(extra="forbid")


class TopicBody(Body):
    """One topic of a summary."""

    question: str
    answer: str
    refs: list[str] = Field(description="The turns it speaks of: `#n`, or ranges `#n-#m`.")


class SummaryBody(Body):
    """What the model wrote."""

    entries: list[TopicBody]


class PassBody(Body):
    """One summary pass."""

    thread_id: str
    sequence: int = Field(ge=1, description="1 for the first pass of the thread, then counting up.")
    start_message_index: int = Field(ge=0, description="First covered human message, from 0.")
    end_message_index: int = Field(ge=0, description="Last covered human message, included.")
    message_count: int
    message_ids: list[str]
    summary: SummaryBody
    trigger_reason: Literal["turn_based", "token_based"]
    token_count_before: int
    token_count_after: int
    created_at: datetime


class PassRow(Body):
    """One summary pass as it is stored and as the model reads it."""

    key: str = Field(description="`<thread>:<sequence>`")
    value: PassBody
    text: str = Field(description="The summary as the model sees it.")

    @classmethod
    def of(cls, entry: SummaryEntry) -> Self:
        """Make the row of an entry."""
        return cls(
            key=summary_key(entry.thread_id, entry.sequence),
            value=PassBody.model_validate(entry),
            text=format_entries(entry.summary.entries),
        )


class TitledPassRow(PassRow):
    """A row of the flat list."""

    thread_title: str | None = Field(description="Null when the title could not be read.")

    @classmethod
    def all_of(cls, threads: tuple[ThreadPasses, ...]) -> list[Self]:
        """Make the flat list, in the order of the threads and within them of the passes."""
        return [
            cls(**PassRow.of(entry).model_dump(by_alias=False), thread_title=thread.title)
            for thread in threads
            for entry in thread.entries
        ]


class ProfileBody(Body):
    """The memory page."""

    memory: dict[str, Any] = Field(description="The profile as the model sees it: what was saved over the account.")
    store: dict[str, Any] = Field(description="What was saved; these keys can be deleted.")
    auth: dict[str, Any] = Field(description="What the account says; read only.")
    threads: list[TitledPassRow] = Field(description="Threads newest summary first, their passes oldest first.")
    degraded: list[Literal["store", "threads", "titles"]] = Field(
        description="Parts that could not be read and are empty for that reason only."
    )

    @classmethod
    def of(cls, view: MemoryView) -> Self:
        """Make the page of a view."""
        return cls(
            memory=view.merged,
            store=view.store,
            auth=view.auth,
            threads=TitledPassRow.all_of(view.threads),
            degraded=sorted(view.degraded),
        )


class ThreadBody(Body):
    """The summaries of one thread."""

    thread_id: str
    thread_title: str | None
    summaries: list[PassRow] = Field(description="Oldest first.")


class ThreadsBody(Body):
    """The summaries of every thread."""

    threads: list[ThreadBody] = Field(description="Newest summary first.")

    @classmethod
    def of(cls, threads: tuple[ThreadPasses, ...]) -> Self:
        """Make the list."""
        return cls(
            threads=[
                ThreadBody(
                    thread_id=thread.thread_id,
                    thread_title=thread.title,
                    summaries=[PassRow.of(entry) for entry in thread.entries],
                )
                for thread in threads
            ]
        )


class KeyDeletedBody(Body):
    """A profile key is gone."""

    ok: Literal[True] = True
    deleted_key: str


class SummariesDeletedBody(Body):
    """A thread's summaries are gone."""

    ok: Literal[True] = True
    deleted_count: int


class ErrorBody(Body):
    """What every error looks like."""

    code: str
    message: str
    doc_count: int | None = Field(None, description="With NON_EMPTY: how many documents are in the folder.")
