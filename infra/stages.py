"""What differs between deployments, and nothing else does.

A stage is chosen with ``-c stage=NAME``. ``dev`` may be thrown away, ``prod`` keeps its data, ``local`` is the local
cloud. A name that is none of these is a ``dev`` of its own, so that two people can share an account.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from aws_cdk.aws_logs import RetentionDays

from shared.settings import FunctionSettings, KnowledgeIndexKnobs, MemoryKnobs, TraceKnobs

IndexKind = Literal["exact", "s3vectors"]
OcrKind = Literal["textract", "none"]

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,15}")

GEOGRAPHIES: Final = {
    "us": ("us-east-1", "us-east-2", "us-west-2"),
    "eu": ("eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-3"),
    "jp": ("ap-northeast-1", "ap-northeast-3"),
    "au": ("ap-southeast-2", "ap-southeast-4"),
}
"""Where the inference profiles of each geography may run a request. Bedrock's page on inference profiles lists them
for each model: a model whose list is another one is written with ``regions`` of its own."""

GLOBAL: Final = "global"
DEFAULT_REGION: Final = "us-east-1"


@dataclass(frozen=True, slots=True)
class Model:
    """One Bedrock model as the functions call it.

    Parameters
    ----------
    id : str
        An inference profile such as ``us.anthropic.claude-haiku-4-5-20251001-v1:0``, or a foundation model's id,
        which runs in the stack's own region only.
    regions : tuple of str
        Where the profile may run a request; empty for the usual ones of its geography.
    """

    id: str
    regions: tuple[str, ...] = ()

    @property
    def geography(self) -> str | None:
        """The profile's geography; ``None`` for a foundation model's id."""
        head = self.id.split(".", 1)[0]
        return head if head in GEOGRAPHIES or head == GLOBAL else None

    def arns(self, *, partition: str, region: str, account: str) -> tuple[str, ...]:
        """Give what a role must be allowed to invoke: the profile, and its model wherever the profile may run it.

        Parameters
        ----------
        partition, region, account : str
            The stack's own; tokens will do.
        """
        if self.geography is None:
            return (f"arn:{partition}:bedrock:{region}::foundation-model/{self.id}",)
        profile = f"arn:{partition}:bedrock:{region}:{account}:inference-profile/{self.id}"
        model = self.id.split(".", 1)[1]
        # A global profile names its model once without a region, and once where the request enters.
        regions = ("", region) if self.geography == GLOBAL else self.regions or GEOGRAPHIES[self.geography]
        return (profile, *(f"arn:{partition}:bedrock:{where}::foundation-model/{model}" for where in regions))


@dataclass(frozen=True, slots=True)
class Models:
    """Which model does what."""

    chat: Model
    """The agents."""
    fast: Model
    """Router and thread names: small, because a turn waits for it."""
    summary: Model
    """Summary passes, off the chat stream."""

    @classmethod
    def near(cls, region: str) -> "Models":
        """Give the usual models through the inference profiles that may be called from a region."""
        geography = geography_of(region)
        large = Model(f"{geography}.anthropic.claude-sonnet-4-5-20250929-v1:0")
        small = Model(f"{geography}.anthropic.claude-haiku-4-5-20251001-v1:0")
        return cls(chat=large, fast=small, summary=small)


def geography_of(region: str) -> str:
    """Give the geography whose inference profiles can be called from a region; ``global`` where there is none."""
    for geography, regions in GEOGRAPHIES.items():
        if region in regions or region.startswith(f"{geography}-"):
            return geography
    return GLOBAL


@dataclass(frozen=True, slots=True)
class Embeddings:
    """What documents are found by. The index holds vectors of one model: another one means processing them again.

    Parameters
    ----------
    model : Model
        Takes and gives what Titan's text embeddings do.
    dimension : int
        How many numbers its vectors have.
    """

    model: Model = Model(KnowledgeIndexKnobs.model_fields["embedding_model"].default)
    dimension: int = KnowledgeIndexKnobs.model_fields["embedding_dimension"].default


@dataclass(frozen=True, slots=True)
class Stage:
    """One deployment.

    Parameters
    ----------
    name : str
        Part of the stacks' names and the path of the API.
    keep_data : bool
        Tables and user pool survive ``destroy`` and refuse deletion; logs survive too.
    customer_key : bool
        Tables and uploads are encrypted with a KMS key of the stack instead of keys that AWS owns. Queues and the
        bus carry ids only and keep the service's own key.
    self_sign_up : bool
        Anybody may make an account; otherwise an administrator makes them.
    password_sign_in : bool
        Clients may send a password as it is. Handy where people try things; otherwise they prove that they know it.
    point_in_time_recovery : bool
        Tables can be put back to any second of the last 35 days.
    log_retention : RetentionDays
        How long logs are kept.
    requests_per_second, burst : int
        What the API lets through before it answers 429.
    reserved_concurrency : Mapping of str to int
        Function name to the most environments it may have. Empty by default: a new account has ten in all, and
        reserving any of them would make the deployment fail.
    models : Models
        Model ids and where they run.
    index : {'exact', 's3vectors'}
        Where vectors are: in the memory table, compared one by one, which costs nothing while nobody searches and
        serves some thousands of chunks a user; or on S3 Vectors.
    embeddings : Embeddings
        What documents are found by.
    ocr : {'textract', 'none'}
        What reads pictures of text.
    knobs : MemoryKnobs
        The seed's three numbers.
    traces : TraceKnobs
        Whether it is kept what happens in runs.
    log_level : str
        Of all functions.
    alarm_email : str or None
        Who is told when an alarm goes off.
    model_endpoint : str or None
        Where Bedrock Runtime is; only the local cloud sets it.
    """

    name: str
    keep_data: bool = False
    customer_key: bool = False
    self_sign_up: bool = False
    password_sign_in: bool = True
    point_in_time_recovery: bool = True
    log_retention: RetentionDays = RetentionDays.TWO_WEEKS
    requests_per_second: int = 50
    burst: int = 100
    reserved_concurrency: Mapping[str, int] = field(default_factory=dict[str, int])
    models: Models = field(default_factory=lambda: Models.near(DEFAULT_REGION))
    index: IndexKind = "exact"
    embeddings: Embeddings = field(default_factory=Embeddings)
    ocr: OcrKind = "textract"
    knobs: MemoryKnobs = field(default_factory=MemoryKnobs)
    traces: TraceKnobs = field(default_factory=TraceKnobs)
    log_level: str = FunctionSettings.model_fields["log_level"].default
    alarm_email: str | None = None
    model_endpoint: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether this is the local cloud, where nothing outlives its folder."""
        return self.name == LOCAL


LOCAL: Final = "local"

_STAGES: Final = {
    LOCAL: Stage(
        LOCAL,
        self_sign_up=True,
        log_retention=RetentionDays.ONE_DAY,
        # What the local model answers with, and nothing on one machine reads pictures.
        embeddings=Embeddings(Model("local.all-minilm-l6-v2"), 384),
        ocr="none",
    ),
    "prod": Stage(
        "prod",
        keep_data=True,
        customer_key=True,
        password_sign_in=False,
        index="s3vectors",
        log_retention=RetentionDays.THREE_MONTHS,
        requests_per_second=200,
        burst=400,
        # Summaries wait, chats do not: a backlog of events may not use up the account's Bedrock quota.
        reserved_concurrency={"summarize": 20},
    ),
}

_KNOBS: Final = {
    "keep_recent": "memory_thread_summary_keep_recent",
    "buffer_turns": "memory_thread_messages_buffer_recent_turns",
    "profile_max_bytes": "memory_profile_max_bytes",
}
"""Context name to setting."""
_TRACE_KNOBS: Final = {"spans": "spans", "span_days": "observability_retention_days"}

CONTEXT: Final = (
    "stage",
    "chat_model",
    "fast_model",
    "summary_model",
    "index",
    "ocr",
    *_KNOBS,
    *_TRACE_KNOBS,
    "log_level",
    "alarm_email",
    "model_endpoint",
)
"""What may be given with ``-c NAME=VALUE``."""


def stage_of(context: Mapping[str, str], *, region: str = DEFAULT_REGION) -> Stage:
    """Choose a stage and change what the context asks for.

    Parameters
    ----------
    context : Mapping
        Values of the names in :data:`CONTEXT`; others are not looked at.
    region : str
        Where it will be deployed: decides which inference profiles are the usual ones.

    Raises
    ------
    ValueError
        When the name is none that stacks and paths can carry, or ``model_endpoint`` is set in an AWS account.
    """
    name = context.get("stage", "dev")
    if not _NAME.fullmatch(name):
        raise ValueError(f"A stage is named with up to 16 of a-z, 0-9 and '-', a letter first; not {name!r}.")
    stage = _STAGES.get(name, Stage(name))
    models = {
        role: Model(context[f"{role}_model"]) for role in ("chat", "fast", "summary") if f"{role}_model" in context
    }
    knobs = {setting: context[name] for name, setting in _KNOBS.items() if name in context}
    traces = {setting: context[name] for name, setting in _TRACE_KNOBS.items() if name in context}
    index, ocr = context.get("index", stage.index), context.get("ocr", stage.ocr)
    if index not in get_args(IndexKind) or ocr not in get_args(OcrKind):
        raise ValueError(f"index is one of {get_args(IndexKind)}, ocr one of {get_args(OcrKind)}.")
    if "model_endpoint" in context and not stage.is_local:
        raise ValueError("model_endpoint is for the local cloud; everywhere else the model is Bedrock.")
    return replace(
        stage,
        models=replace(Models.near(region), **models),
        index=index,
        ocr=ocr,
        knobs=MemoryKnobs.model_validate({**stage.knobs.model_dump(), **knobs}),
        traces=TraceKnobs.model_validate({**stage.traces.model_dump(), **traces}),
        log_level=context.get("log_level", stage.log_level),
        alarm_email=context.get("alarm_email", stage.alarm_email),
        model_endpoint=context.get("model_endpoint", stage.model_endpoint),
    )
