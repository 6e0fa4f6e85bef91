"""What replies hold, for the OpenAPI document; tests hold the real replies against it."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.adapters.langgraph_api.bodies import Json, RunStatusName, Status


class Reply(BaseModel):
    """A JSON object."""

    model_config = ConfigDict(extra="forbid")


class ErrorReply(Reply):
    """Every error."""

    detail: str


class OkReply(Reply):
    """The service is there."""

    ok: Literal[True]


class InfoReply(Reply):
    """What this server can do."""

    version: str
    flags: dict[str, bool]


class NothingReply(Reply):
    """Nothing: the status says it."""


class AssistantReply(Reply):
    """An assistant: a graph that can be run."""

    assistant_id: str
    graph_id: str
    name: str
    description: str | None
    config: Json
    context: Json
    metadata: Json
    version: int
    created_at: datetime
    updated_at: datetime


class SomeOfAnAssistantReply(Reply):
    """The fields of an assistant that were asked for; by default all."""

    assistant_id: str | None = None
    graph_id: str | None = None
    name: str | None = None
    description: str | None = None
    config: Json | None = None
    context: Json | None = None
    metadata: Json | None = None
    version: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class SchemasReply(Reply):
    """JSON schemas of what a graph takes, gives and holds."""

    graph_id: str
    input_schema: Json
    output_schema: Json
    state_schema: Json
    config_schema: Json | None
    context_schema: Json | None


class GraphReply(Reply):
    """A graph, to be drawn."""

    nodes: list[Json]
    edges: list[Json]


class RunReply(Reply):
    """A run."""

    run_id: str
    thread_id: str
    assistant_id: str
    created_at: datetime
    updated_at: datetime
    status: RunStatusName
    metadata: Json
    multitask_strategy: str


class SomeOfARunReply(Reply):
    """The fields of a run that were asked for; by default all."""

    run_id: str | None = None
    thread_id: str | None = None
    assistant_id: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    status: RunStatusName | None = None
    metadata: Json | None = None
    multitask_strategy: str | None = None


class FinalReply(BaseModel):
    """The state that a run ended with: its values, with `__interrupt__` when a person is asked."""

    model_config = ConfigDict(extra="allow")

    error: Json | None = Field(default=None, alias="__error__", description="Of a run that failed, and nothing else.")


class UnnamedEventReply(BaseModel):
    """An event of a stream that says in its data of what kind it is."""

    data: str = Field(description="JSON.")


class EventReply(Reply):
    """An event of a stream."""

    event: str
    data: str = Field(description="JSON.")
    id: str = Field(description="Where it stands in the run, from 1; for Last-Event-ID.")


class InterruptReply(Reply):
    """A question to the user."""

    value: Any
    id: str | None = None
    response_schema: Json | None = None


class ThreadReply(Reply):
    """A thread."""

    thread_id: str
    created_at: datetime
    updated_at: datetime
    state_updated_at: datetime = Field(description="When something was said last.")
    metadata: Json = Field(description="The client's own, the names of the graph, and the thread's 'title'.")
    status: Status
    config: Json = Field(description="Empty: threads have none.")
    values: Json | None = Field(description="The beginning of the first message; the state has all of them.")
    interrupts: dict[str, list[InterruptReply]] = Field(
        description="What a person is asked, by task. Lists leave it out: the thread and its state have it."
    )


class SomeOfAThreadReply(Reply):
    """The fields of a thread that were asked for; by default all."""

    thread_id: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    state_updated_at: datetime | None = None
    metadata: Json | None = None
    status: Status | None = None
    config: Json | None = None
    values: Json | None = None
    interrupts: dict[str, list[InterruptReply]] | None = None


class ChangedReply(Reply):
    """Where a change of the state is stored."""

    checkpoint: "PlaceReply"
    configurable: "PlaceReply"
    checkpoint_id: str


class PlaceReply(Reply):
    """A place in a thread's history."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str | None


class TaskReply(Reply):
    """A step that is open, or failed."""

    id: str
    name: str
    path: list[Any]
    error: str | None
    interrupts: list[InterruptReply]
    checkpoint: PlaceReply | None
    state: "StateReply | None"
    result: Json | None


class StateReply(Reply):
    """A state of a thread."""

    values: Json
    next: list[str]
    tasks: list[TaskReply]
    interrupts: list[InterruptReply]
    metadata: Json
    created_at: datetime | None
    checkpoint: PlaceReply
    checkpoint_id: str | None
    parent_checkpoint: PlaceReply | None
    parent_checkpoint_id: str | None


CountReply = Annotated[int, Field(ge=0)]
