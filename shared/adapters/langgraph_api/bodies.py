"""What requests hold. Unknown fields are refused by name, so that nothing is accepted that has no effect."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

Json = dict[str, Any]

StreamMode = Literal[
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "events",
    "tasks",
    "checkpoints",
    "debug",
    "tools",
    "lifecycle",
]
SortBy = Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at", "last_message_at"]
Status = Literal["idle", "busy", "interrupted", "error"]
ThreadField = Literal[
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "status",
    "config",
    "values",
    "interrupts",
]

RunStatusName = Literal["pending", "running", "success", "error", "timeout", "interrupted"]
RunField = Literal[
    "run_id", "thread_id", "assistant_id", "created_at", "updated_at", "status", "metadata", "multitask_strategy"
]
AssistantField = Literal[
    "assistant_id",
    "graph_id",
    "name",
    "description",
    "config",
    "context",
    "created_at",
    "updated_at",
    "metadata",
    "version",
]

MAX_PAGE = 1000

MAX_TAGS = 100
MAX_TAG_CHARS = 256
"""Tags are written with every step of a run, and with every event of some modes."""

MAX_NODES = 100
"""Of a list of nodes; a graph has fewer."""

MAX_MESSAGES = 10_000
"""Of one request."""

Tag = Annotated[str, StringConstraints(max_length=MAX_TAG_CHARS)]
Nodes = Annotated[list[str], Field(max_length=MAX_NODES)]
Messages = Annotated[list[Json], Field(max_length=MAX_MESSAGES)]
Modes = Annotated[list[StreamMode], Field(max_length=MAX_NODES)]


def _in_a_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Body(BaseModel):
    """A request's body. A field that is null counts as not given."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ThreadCreate(Body):
    """``POST /threads``."""

    thread_id: str | None = Field(default=None, description="A UUID; made when there is none.")
    metadata: Json | None = Field(
        default=None,
        description=(
            "Kept with the thread. A 'title' in it names the thread; a 'history_policy' says, for good, how it is kept "
            "within the context window: 'summaries' (the default), 'trim', 'delete' or 'running_summary'."
        ),
    )
    if_exists: Literal["raise", "do_nothing"] | None = None


class ThreadPatch(Body):
    """``PATCH /threads/{thread_id}``."""

    metadata: Json | None = Field(default=None, description="Merged key by key; a 'title' in it renames the thread.")


class ThreadCount(Body):
    """``POST /threads/count``."""

    metadata: Json | None = Field(default=None, description="Each pair must be in the thread's metadata.")
    status: Status | None = None


class ThreadSearch(ThreadCount):
    """``POST /threads/search``."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 10
    offset: Annotated[int, Field(ge=0)] = 0
    sort_by: SortBy | None = Field(
        default=None, description="Default: last_message_at, which state_updated_at is taken for as well."
    )
    sort_order: Literal["asc", "desc"] | None = None
    select: list[ThreadField] | None = Field(default=None, description="Only these fields of each thread.")


class AssistantSearch(Body):
    """``POST /assistants/search``."""

    graph_id: str | None = None
    name: str | None = Field(default=None, description="Part of the name.")
    metadata: Json | None = Field(default=None, description="Each pair must be in the assistant's metadata.")
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 10
    offset: Annotated[int, Field(ge=0, le=MAX_PAGE)] = 0
    sort_by: Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"] | None = None
    sort_order: Literal["asc", "desc"] | None = None
    select: list[AssistantField] | None = Field(default=None, description="Only these fields of each assistant.")


class Checkpoint(Body):
    """A place in a thread's history."""

    checkpoint_id: str | None = None
    thread_id: str | None = None
    checkpoint_ns: str | None = None
    checkpoint_map: Json | None = None


def _as_checkpoint(value: object) -> object:
    """Take a checkpoint's id, a checkpoint, or the config that the SDK's older versions send."""
    if isinstance(value, str):
        return {"checkpoint_id": value}
    if isinstance(value, dict) and "configurable" in value:
        return value["configurable"]  # pyright: ignore[reportUnknownVariableType]
    return value  # pyright: ignore[reportUnknownVariableType]


class HistoryQuery(Body):
    """``POST /threads/{thread_id}/history``."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 10
    before: Annotated[Checkpoint | None, BeforeValidator(_as_checkpoint)] = Field(
        default=None, description="Only states before this one: a checkpoint, or its id."
    )
    checkpoint: Checkpoint | None = Field(default=None, description="Only the root namespace is supported.")
    metadata: Json | None = Field(default=None, description="Each pair must be in the state's metadata.")


class StateAt(Body):
    """``POST /threads/{thread_id}/state/checkpoint``."""

    checkpoint: Checkpoint
    subgraphs: bool | None = Field(default=None, description="Whether to give the states of open subgraphs too.")


class SendTo(Body):
    """A node, and what it gets."""

    node: str
    input: Any = None


def _in_a_sequence(value: object) -> object:
    return [value] if isinstance(value, str | dict) else value  # pyright: ignore[reportUnknownVariableType]


class InputBody(Body):
    """What a run is given."""

    messages: Annotated[Messages | None, BeforeValidator(_in_a_sequence)] = None


class StateUpdate(Body):
    """``POST /threads/{thread_id}/state``."""

    values: InputBody | None = Field(default=None, description="New messages, others in place of old, removals.")
    as_node: str | None = Field(default=None, description="The node that the change is made as; the last by default.")
    checkpoint: Checkpoint | None = Field(default=None, description="Where the change is made; the head by default.")
    checkpoint_id: str | None = None


class CommandBody(Body):
    """What a run goes on with instead of an input."""

    resume: Any = None
    update: InputBody | None = None
    goto: Annotated[
        Annotated[list[str | SendTo], Field(max_length=MAX_NODES)] | None, BeforeValidator(_in_a_sequence)
    ] = None


class ConfigBody(Body):
    """Options for LangGraph."""

    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] | None = None
    recursion_limit: Annotated[int, Field(ge=1, le=100)] | None = None
    configurable: Json | None = None
    metadata: Json | None = None


class RunCreate(Body):
    """``POST /threads/{thread_id}/runs/stream``; what each option means is in ``run_options``."""

    assistant_id: str
    input: InputBody | None = None
    command: CommandBody | None = None
    checkpoint: Checkpoint | None = None
    checkpoint_id: str | None = None
    config: ConfigBody | None = None
    context: Json | None = None
    metadata: Json | None = None
    stream_mode: Annotated[Modes | None, BeforeValidator(_in_a_list)] = None
    stream_subgraphs: bool | None = None
    stream_resumable: bool | None = None
    on_disconnect: Literal["cancel", "continue"] | None = None
    on_completion: Literal["delete", "keep"] | None = None
    multitask_strategy: Literal["reject", "enqueue", "interrupt", "rollback"] | None = None
    if_not_exists: Literal["create", "reject"] | None = None
    durability: Literal["sync", "async", "exit"] | None = None
    checkpoint_during: bool | None = None
    interrupt_before: Annotated[Nodes | None, BeforeValidator(_in_a_list)] = None
    interrupt_after: Annotated[Nodes | None, BeforeValidator(_in_a_list)] = None
    after_seconds: int | None = None
    webhook: str | None = None
    feedback_keys: list[str] | None = None
    strict_resume: bool | None = None
    langsmith_tracer: Json | None = None

    @model_validator(mode="after")
    def _input_or_command(self) -> "RunCreate":
        if self.input is not None and self.command is not None:
            raise ValueError("input and command exclude each other")
        return self
