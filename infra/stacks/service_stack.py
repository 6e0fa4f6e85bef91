"""What runs: the functions, the API before them, the bus and the queues between them."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from aws_cdk import CfnOutput, Duration, Environment, Fn, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.bundling import Bundle
from infra.constructs.alarms import Alarms
from infra.constructs.api import Api
from infra.constructs.counter_alarms import watch_counters
from infra.constructs.python_function import PythonFunction
from infra.constructs.table import Table
from infra.constructs.turn_events import TurnEvents
from infra.constructs.work_queue import WorkQueue
from infra.stacks.data_stack import UPLOADS_OUTPUT, DataStack
from infra.stages import Model, Stage
from shared.adapters.routes import ROUTES
from shared.domain.uploads import USERS_PREFIX
from shared.settings import (
    ChatSettings,
    KbIngestSettings,
    KnowledgeIndexKnobs,
    MemoryApiSettings,
    PurgeSettings,
    SummarizeSettings,
)

# What each function's adapters call, and no more. A transaction needs the actions of its parts.
READ: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
CHECKPOINTS: Final = (*READ, "dynamodb:BatchWriteItem", "dynamodb:UpdateItem")
CHAT_ROWS: Final = (
    *READ,
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
)
SUMMARIZE_ROWS: Final = (
    "dynamodb:GetItem",
    "dynamodb:Query",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:ConditionCheckItem",
)
MEMORY_API_ROWS: Final = (
    *READ,
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
)
PURGE_ROWS: Final = (
    "dynamodb:GetItem",
    "dynamodb:Query",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:BatchWriteItem",
)
KB_INGEST_ROWS: Final = (
    *READ,
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
)
# What a presigned upload may do is what its signer may; the others are for a look whether an object is there.
UPLOADS: Final = ("s3:PutObject", "s3:GetObject", "s3:GetObjectVersion")
# ListBucket: without it an object that is not there is answered as one that may not be read.
OBJECTS: Final = ("s3:GetObject", "s3:GetObjectVersion", "s3:DeleteObject", "s3:DeleteObjectVersion")
VECTORS: Final = ("s3vectors:PutVectors", "s3vectors:DeleteVectors", "s3vectors:QueryVectors", "s3vectors:GetVectors")
# GetVectors: a query that gives metadata back needs it too.
SEARCH: Final = ("s3vectors:QueryVectors", "s3vectors:GetVectors")
INVOKE_MODEL: Final = ("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream")
EMBED: Final = ("bedrock:InvokeModel",)

_KEY_USE: Final = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey")

# Longer than a turn may take is no use: API Gateway closes a stream after fifteen minutes.
_CHAT_TIMEOUT: Final = Duration.minutes(15)
# Less than a pass holds its claim (settings.claim_seconds), so that nobody takes over from a pass that still runs.
_SUMMARIZE_TIMEOUT: Final = Duration.seconds(170)
_MEMORY_API_TIMEOUT: Final = Duration.seconds(29)
_PURGE_TIMEOUT: Final = Duration.minutes(2)
# What is left after that is queued; a message is hidden for six times as long before it is delivered again.
_KB_INGEST_TIMEOUT: Final = Duration.minutes(5)
_KB_INGEST_TRIES: Final = 5


class ServiceStack(Stack):
    """Everything that can be thrown away and deployed again.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    stage : Stage
        Which deployment.
    data : DataStack
        Where the state is.
    bundle_of : callable
        Gives the code of a function by the name of its package.
    env : Environment or None
        Account and region, when they are known.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        data: DataStack,
        bundle_of: Callable[[str], Bundle],
        env: Environment | None = None,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            stack_name=f"everthread-{stage.name}-service",
            description=f"Everthread {stage.name}: functions, API, events",
            env=env,
        )
        self._stage = stage
        self._data = data
        self._bundle_of = bundle_of
        # By the output's name, not by CDK's own reference: an exception to a rule has to name it (infra/nag.py).
        bucket = Fn.get_stack_output(data.stack_name, UPLOADS_OUTPUT)
        self.uploaded_objects = f"arn:{self.partition}:s3:::{bucket}/{USERS_PREFIX}*"
        self._alarms = Alarms(self, "Alarms", email=stage.alarm_email)
        self.turn_events = TurnEvents(self, "TurnEvents", stage=stage, alarms=self._alarms)
        self.purges = WorkQueue(
            self, "Purges", timeout=_PURGE_TIMEOUT, tries=10, alarms=self._alarms, carries="Purges of deleted threads"
        )
        self.object_events = WorkQueue(
            self,
            "ObjectEvents",
            timeout=_KB_INGEST_TIMEOUT,
            tries=_KB_INGEST_TRIES,
            alarms=self._alarms,
            carries="Changes of uploads",
        )

        self.chat = self._chat()
        self.summarize = self._summarize()
        self.memory_api = self._memory_api()
        self.purge = self._purge()
        self.kb_ingest = self._kb_ingest()
        self.functions = (self.chat, self.summarize, self.memory_api, self.purge, self.kb_ingest)

        self.turn_events.wake(self.summarize)
        self.purges.feed(self.purge, batch=1)
        # One document may take an invocation's time, and a batch is hidden as one.
        self.object_events.feed(self.kb_ingest, batch=1)
        self._watch_uploads()
        self.api = Api(
            self,
            "Api",
            routes=ROUTES,
            functions={function.name: function for function in (self.chat, self.memory_api)},
            user_pool=data.users.pool,
            stage=stage,
            alarms=self._alarms,
        )
        watch_counters(self, self._alarms, {function.name: function.settings for function in self.functions})
        self._outputs()

    def _chat(self) -> PythonFunction:
        models = self._stage.models
        function = PythonFunction(
            self,
            "Chat",
            name="chat",
            bundle=self._bundle_of("chat"),
            stage=self._stage,
            alarms=self._alarms,
            settings=ChatSettings(
                stage=self._stage.name,
                log_level=self._stage.log_level,
                **self._stage.knobs.model_dump(),
                **self._index_knobs(),
                **self._stage.traces.model_dump(),
                memory_table=self._data.memory.name,
                checkpoint_table=self._data.checkpoints.name,
                bucket=self._data.uploads.bucket.bucket_name,
                event_bus=self.turn_events.bus.event_bus_name,
                purge_queue_url=self.purges.queue.queue_url,
                chat_model=models.chat.id,
                fast_model=models.fast.id,
            ),
            timeout=_CHAT_TIMEOUT,
            memory_mb=1769,
            # The managed Python runtime cannot stream; the script starts one that can.
            extra_environment={"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/functions/chat/bootstrap"}
            | self._model_endpoint(),
        )
        self._allow_rows(function, self._data.memory, CHAT_ROWS)
        function.allow("dynamodb:Query", on=self._data.memory.index_arns)
        self._allow_rows(function, self._data.checkpoints, CHECKPOINTS)
        function.allow("events:PutEvents", on=[self.turn_events.bus.event_bus_arn])
        function.allow("sqs:SendMessage", on=[self.purges.queue.queue_arn])
        self._allow_models(function, [models.chat, models.fast])
        self._allow_index(function, SEARCH)
        # Files that come with messages; nothing of the bucket is read here.
        function.allow("s3:PutObject", on=[self.uploaded_objects])
        self._allow_key(function, "s3")
        return function

    def _summarize(self) -> PythonFunction:
        models = self._stage.models
        function = PythonFunction(
            self,
            "Summarize",
            name="summarize",
            bundle=self._bundle_of("summarize"),
            stage=self._stage,
            alarms=self._alarms,
            settings=SummarizeSettings(
                stage=self._stage.name,
                log_level=self._stage.log_level,
                **self._stage.knobs.model_dump(),
                **self._stage.traces.model_dump(),
                memory_table=self._data.memory.name,
                checkpoint_table=self._data.checkpoints.name,
                summary_model=models.summary.id,
            ),
            timeout=_SUMMARIZE_TIMEOUT,
            memory_mb=1024,
            called_by="event",
            extra_environment=self._model_endpoint(),
        )
        self._allow_rows(function, self._data.memory, SUMMARIZE_ROWS)
        self._allow_rows(function, self._data.checkpoints, READ)
        self._allow_models(function, [models.summary])
        return function

    def _memory_api(self) -> PythonFunction:
        function = PythonFunction(
            self,
            "MemoryApi",
            name="memory_api",
            bundle=self._bundle_of("memory_api"),
            stage=self._stage,
            alarms=self._alarms,
            settings=MemoryApiSettings(
                stage=self._stage.name,
                log_level=self._stage.log_level,
                **self._stage.knobs.model_dump(),
                memory_table=self._data.memory.name,
                purge_queue_url=self.purges.queue.queue_url,
                bucket=self._data.uploads.bucket.bucket_name,
                ingestion_queue_url=self.object_events.queue.queue_url,
            ),
            timeout=_MEMORY_API_TIMEOUT,
            memory_mb=1024,
        )
        self._allow_rows(function, self._data.memory, MEMORY_API_ROWS)
        self._allow_uploads(function, UPLOADS)
        function.allow("sqs:SendMessage", on=[self.purges.queue.queue_arn, self.object_events.queue.queue_arn])
        return function

    def _purge(self) -> PythonFunction:
        function = PythonFunction(
            self,
            "Purge",
            name="purge",
            bundle=self._bundle_of("purge"),
            stage=self._stage,
            alarms=self._alarms,
            settings=PurgeSettings(
                stage=self._stage.name,
                log_level=self._stage.log_level,
                memory_table=self._data.memory.name,
                checkpoint_table=self._data.checkpoints.name,
            ),
            timeout=_PURGE_TIMEOUT,
            memory_mb=512,
            called_by="queue",
        )
        self._allow_rows(function, self._data.memory, PURGE_ROWS)
        self._allow_rows(function, self._data.checkpoints, CHECKPOINTS)
        return function

    def _kb_ingest(self) -> PythonFunction:
        function = PythonFunction(
            self,
            "KbIngest",
            name="kb_ingest",
            bundle=self._bundle_of("kb_ingest"),
            stage=self._stage,
            alarms=self._alarms,
            settings=KbIngestSettings(
                stage=self._stage.name,
                log_level=self._stage.log_level,
                **self._index_knobs(),
                memory_table=self._data.memory.name,
                bucket=self._data.uploads.bucket.bucket_name,
                ingestion_queue_url=self.object_events.queue.queue_url,
                deliveries=_KB_INGEST_TRIES,
                ocr=self._stage.ocr,
                observability_retention_days=self._stage.traces.observability_retention_days,
            ),
            timeout=_KB_INGEST_TIMEOUT,
            # The parser may take a gigabyte beside the function, which holds the file meanwhile.
            memory_mb=2048,
            # The file and what the parser gives back, in one document at a time.
            ephemeral_mb=1024,
            wakes_itself=True,
            called_by="queue",
            extra_environment=self._model_endpoint(),
        )
        self._allow_rows(function, self._data.memory, KB_INGEST_ROWS)
        self._allow_uploads(function, OBJECTS)
        self._allow_index(function, VECTORS)
        # Of a deleted user every version goes.
        function.allow("s3:ListBucketVersions", on=[self._data.uploads.bucket.bucket_arn])
        function.allow("sqs:SendMessage", on=[self.object_events.queue.queue_arn])
        if self._stage.ocr == "textract":
            # It knows no resources: what is read comes with the call.
            function.allow("textract:DetectDocumentText", on=["*"])
        return function

    def _index_knobs(self) -> dict[str, Any]:
        embeddings, vectors = self._stage.embeddings, self._data.vectors
        return KnowledgeIndexKnobs(
            embedding_model=embeddings.model.id,
            embedding_dimension=embeddings.dimension,
            vector_index_arn=vectors.arn if vectors else "",
        ).model_dump()

    def _model_endpoint(self) -> dict[str, str]:
        endpoint = self._stage.model_endpoint
        return {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": endpoint} if endpoint else {}

    def _allow_rows(self, function: PythonFunction, table: Table, actions: Sequence[str]) -> None:
        function.allow(*actions, on=[table.arn])
        self._allow_key(function, "dynamodb")

    def _allow_uploads(self, function: PythonFunction, actions: Sequence[str]) -> None:
        function.allow(*actions, on=[self.uploaded_objects])
        function.allow("s3:ListBucket", on=[self._data.uploads.bucket.bucket_arn])
        self._allow_key(function, "s3")

    def _allow_index(self, function: PythonFunction, actions: Sequence[str]) -> None:
        self._allow_models(function, [self._stage.embeddings.model], actions=EMBED)
        if self._data.vectors:
            function.allow(*actions, on=[self._data.vectors.arn])
            self._allow_key(function, "s3vectors")

    def _allow_key(self, function: PythonFunction, service: str) -> None:
        if self._data.key:
            function.allow(
                *_KEY_USE, on=[self._data.key.key_arn], only_through=f"{service}.{self.region}.{self.url_suffix}"
            )

    def _allow_models(
        self, function: PythonFunction, models: Sequence[Model], *, actions: Sequence[str] = INVOKE_MODEL
    ) -> None:
        arns = [
            arn
            for model in models
            for arn in model.arns(partition=self.partition, region=self.region, account=self.account)
        ]
        function.allow(*actions, on=list(dict.fromkeys(arns)))

    def _watch_uploads(self) -> None:
        events.Rule(
            self,
            "UploadsChanged",
            description="A document was uploaded or deleted",
            event_pattern=events.EventPattern(
                source=["aws.s3"],
                detail_type=["Object Created", "Object Deleted"],
                detail={
                    "bucket": {"name": [self._data.uploads.bucket.bucket_name]},
                    "object": {"key": [{"prefix": USERS_PREFIX}]},
                },
            ),
            targets=[
                targets.SqsQueue(
                    self.object_events.queue,
                    dead_letter_queue=self.object_events.dead_letters,
                    retry_attempts=20,
                    max_event_age=Duration.hours(2),
                )
            ],
        )

    def _outputs(self) -> None:
        outputs = {
            "ApiUrl": self.api.url,
            "EventBus": self.turn_events.bus.event_bus_name,
            "PurgeQueueUrl": self.purges.queue.queue_url,
            "AlarmTopic": self._alarms.topic.topic_arn,
        }
        outputs |= {f"{function.node.id}Function": function.function.function_name for function in self.functions}
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
