"""One frozen settings model per function: the field name is the variable's name in lower case.

The functions read these models from their environment, CDK writes the same models into it, and tests build them
directly, so no variable's name is written twice.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_DOCUMENT_MAX_BYTES: Final = 50 * 1024 * 1024


def _comma_separated(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_comma_separated)]
"""Several names in one variable, separated by commas."""


def _whole_number_or(default: int, *, at_least: int) -> BeforeValidator:
    """Read a knob of the seed: anything but a whole number of at least ``at_least`` means the default (CF01–CF03)."""

    def read(value: object) -> int:
        try:
            number = int(str(value).strip())
        except ValueError:
            return default
        return number if number >= at_least else default

    return BeforeValidator(read)


class FunctionSettings(BaseModel):
    """What every function is told.

    Parameters
    ----------
    stage : str
        The deployment's name, for example ``dev``.
    log_level : str
        As powertools takes it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str = "dev"
    log_level: str = "INFO"

    @property
    def metrics_namespace(self) -> str:
        """CloudWatch's namespace of the stage's counters; their one dimension is ``service``, the function's name."""
        return f"Everthread/{self.stage}"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read the model from variables; variables that are not there leave the default.

        Raises
        ------
        pydantic.ValidationError
            When a variable is missing that has no default, or one has no legal value. Raised at cold start.
        """
        return cls.model_validate({name: environ[name.upper()] for name in cls.model_fields if name.upper() in environ})

    def environment(self) -> dict[str, str]:
        """Give the variables that :meth:`from_environment` reads back to an equal model."""
        return {name.upper(): _as_text(getattr(self, name)) for name in type(self).model_fields}


def _as_text(value: object) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


class MemoryKnobs(BaseModel):
    """The seed's three knobs, with its defaults, parsed once at cold start."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_thread_summary_keep_recent: Annotated[int, _whole_number_or(10, at_least=0)] = 10
    """K: how many turns a window has; below 1 the summaries are off."""
    memory_thread_messages_buffer_recent_turns: Annotated[int, _whole_number_or(5, at_least=0)] = 5
    """B: how many summarised turns the model still sees as they were."""
    memory_profile_max_bytes: Annotated[int, _whole_number_or(8192, at_least=1)] = 8192
    """UTF-8 bytes of the profile's compact JSON."""


class KnowledgeIndexKnobs(BaseModel):
    """Which model embeds and where the vectors are. They go together: an index holds vectors of one model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedding_model: str = "amazon.titan-embed-text-v2:0"
    """Bedrock model id that takes and gives what Titan's does."""
    embedding_dimension: int = Field(1024, ge=1, le=4096)
    """How many numbers that model's vectors have, and the index's."""
    vector_index_arn: str = ""
    """The index on Amazon S3 Vectors; without one the vectors are kept in the memory table and searched exactly."""


class RetentionKnobs(BaseModel):
    """How long it is kept what happened."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    observability_retention_days: Annotated[int, _whole_number_or(30, at_least=1)] = 30
    """Of spans, of whatever they are."""


class TraceKnobs(RetentionKnobs):
    """Whether it is kept what happened in runs of threads, and how long."""

    spans: Literal["on", "off"] = "on"
    """One write unit a turn; nothing of what anybody said."""

    @property
    def keep_traces_for(self) -> timedelta | None:
        """How long a trace is kept; ``None`` for not at all."""
        return timedelta(days=self.observability_retention_days) if self.spans == "on" else None


class ChatSettings(FunctionSettings, MemoryKnobs, KnowledgeIndexKnobs, TraceKnobs):
    """``functions/chat``."""

    memory_table: str
    checkpoint_table: str
    event_bus: str
    purge_queue_url: str
    bucket: str
    chat_model: str
    """Bedrock model id or inference profile of the agents."""
    fast_model: str
    """Bedrock model id or inference profile of router and rename."""
    agents: Names = ("chat", "weather", "crypto", "code")
    """Which agents are enabled; with one there is no router."""
    model_max_tokens: int = Field(4096, ge=1)
    """Of one answer."""
    fast_max_tokens: int = Field(256, ge=1)
    """Of one decision or title. A call that is given up goes on at Bedrock; this bounds what it costs."""
    history_token_budget: int = Field(100_000, ge=1)
    """Tokens of history a model call may carry, after the trim by turns."""
    lease_seconds: int = Field(30, ge=3)
    lease_renew_seconds: int = Field(10, ge=1)
    heartbeat_seconds: float = Field(5.0, gt=0)
    search_token_budget: int = Field(6_000, ge=100)
    """Estimated tokens of the passages that one search gives."""
    document_token_budget: int = Field(20_000, ge=0)
    """Estimated tokens that the texts of all files in a thread's messages may take in one model call."""
    document_wait_seconds: float = Field(30.0, ge=0)
    """How long a turn waits until the files that came with it can be read."""
    document_max_bytes: int = Field(_DOCUMENT_MAX_BYTES, ge=1)
    """What a file in a message may have; no more than the ingestion reads."""
    router_seconds: float = Field(5.0, gt=0)
    """How long the router's model may think before the chat agent takes the turn."""
    rename_seconds: float = Field(8.0, gt=0)
    """How long naming the thread may take before it is given up until the next turn."""
    running_summary_seconds: float = Field(20.0, gt=0)
    """How long retelling old turns may take, in threads that are kept short that way."""
    enqueue_seconds: float = Field(35.0, ge=0)
    """How long a run waits for the thread before it answers 409: longer than a lease, so that it outlives the lease
    of a run whose process died. With 0 no run waits."""
    max_body_bytes: int = Field(5_500_000, ge=1)
    """What a request may hold; Lambda's own limit is 6 MB for the whole event."""

    @model_validator(mode="after")
    def _a_lease_outlasts_a_renewal_that_failed(self) -> Self:
        if self.lease_seconds < 2 * self.lease_renew_seconds:
            raise ValueError("lease_seconds must be at least twice lease_renew_seconds")
        return self

    @model_validator(mode="after")
    def _who_waits_outlasts_a_dead_run(self) -> Self:
        if 0 < self.enqueue_seconds <= self.lease_seconds:
            raise ValueError("enqueue_seconds must be more than lease_seconds, or 0")
        return self


class SummarizeSettings(FunctionSettings, MemoryKnobs, TraceKnobs):
    """``functions/summarize``."""

    memory_table: str
    checkpoint_table: str
    summary_model: str
    """Bedrock model id or inference profile of the summary pass."""
    summary_max_tokens: int = Field(4096, ge=1)
    model_patience_seconds: float = Field(30.0, gt=0)
    """When a pass makes no further attempt at the model: the last one must end before the function does."""
    claim_seconds: int = Field(180, ge=1)
    """How long a pass holds its window; longer than the function may run."""
    pass_max_attempts: int = Field(5, ge=1)
    pass_back_off_seconds: int = Field(60, ge=0)
    document_token_budget: int = Field(4_000, ge=0)
    """Estimated tokens that the texts of all files in a thread's messages may take in one pass."""
    window_token_budget: int = Field(60_000, ge=1)
    """Estimated tokens of transcript one pass may send; a larger backlog is cut at a multiple of K."""
    message_char_limit: int = Field(20_000, ge=1)
    """Characters of one message that go into the transcript."""


class MemoryApiSettings(FunctionSettings, MemoryKnobs):
    """``functions/memory_api``."""

    memory_table: str
    purge_queue_url: str
    bucket: str
    ingestion_queue_url: str
    document_max_bytes: int = Field(_DOCUMENT_MAX_BYTES, ge=1)
    """What may be uploaded; no more than the ingestion reads."""


class PurgeSettings(FunctionSettings):
    """``functions/purge``."""

    memory_table: str
    checkpoint_table: str
    tombstone_days: int = Field(90, ge=1)
    purge_patience_seconds: int = Field(40, ge=0)
    """How long one purge waits for a run to let go; longer than a lease, shorter than the function may run."""


class KbIngestSettings(FunctionSettings, KnowledgeIndexKnobs, RetentionKnobs):
    """``functions/kb_ingest``."""

    memory_table: str
    bucket: str
    ingestion_queue_url: str
    deliveries: int = Field(5, ge=2)
    """How often the queue delivers a message; with the last one the document is given up."""
    ocr: Literal["textract", "none"] = "textract"
    """What reads pictures of text. Without it such documents end as ``NEEDS_OCR``."""
    document_max_bytes: int = Field(_DOCUMENT_MAX_BYTES, ge=1)
    """Larger objects are not read."""
