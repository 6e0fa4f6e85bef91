"""The one way a Lambda function of this product is made."""

from collections.abc import Sequence
from typing import Final, Literal

from aws_cdk import AssetHashType, Duration, RemovalPolicy, Size
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.bundling.bundle import Bundle
from infra.constructs.alarms import Alarms
from infra.constructs.dead_letters import DeadLetters
from infra.stages import Stage
from shared.settings import FunctionSettings

RUNTIME: Final = lambda_.Runtime.PYTHON_3_13

CalledBy = Literal["request", "event", "queue"]
"""Somebody who waits for the answer; events that Lambda queues; a queue that Lambda polls."""

_EVENT_TRIES: Final = 3
_EVENT_HOURS: Final = 2
_BACKLOG_MINUTES: Final = 30


class PythonFunction(Construct):
    """A function on arm64 with a role, a log group and alarms of its own.

    The role may write to the function's log group and send traces; everything else is granted with :meth:`allow`,
    action by action.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    name : str
        The package under ``functions/``.
    bundle : Bundle
        Its code.
    settings : FunctionSettings
        What it is told; becomes its environment.
    stage : Stage
        Retention of logs, concurrency, whether logs outlive the stack.
    alarms : Alarms
        Where its alarms go.
    timeout : Duration
        How long one invocation may take.
    memory_mb : int
        Memory, and with it CPU: 1,769 MB are one core.
    ephemeral_mb : int
        Room for files.
    wakes_itself : bool
        Whether it sends messages to the queue that it reads. Lambda ends such loops after some sixteen rounds, unless
        told that the function counts them itself.
    called_by : {'request', 'event', 'queue'}
        Who calls it. A failed event is kept as a dead letter.
    extra_environment : dict of str to str
        Variables that the Lambda service or the SDK reads, not the function.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        bundle: Bundle,
        settings: FunctionSettings,
        stage: Stage,
        alarms: Alarms,
        timeout: Duration,
        memory_mb: int,
        ephemeral_mb: int = 512,
        wakes_itself: bool = False,
        called_by: CalledBy = "request",
        extra_environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = name
        self.settings = settings
        log_group = logs.LogGroup(
            self,
            "Logs",
            retention=stage.log_retention,
            removal_policy=RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY,
        )
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What functions/{name} may do",
        )
        # Not the managed policy: that one may write to every log group of the account.
        self.allow("logs:CreateLogStream", "logs:PutLogEvents", on=[log_group.log_group_arn])
        self.dead_letters = (
            DeadLetters(self, "DeadLetters", alarms=alarms, holds=f"Events that functions/{name} could not handle")
            if called_by == "event"
            else None
        )
        self.function = lambda_.Function(
            self,
            "Function",
            description=f"Everthread {stage.name}: functions/{name}",
            runtime=RUNTIME,
            architecture=lambda_.Architecture.ARM_64,
            handler=f"functions.{name}.handler.handler",
            code=lambda_.Code.from_asset(
                str(bundle.folder), asset_hash=bundle.content_hash, asset_hash_type=AssetHashType.CUSTOM
            ),
            role=self.role,
            environment=settings.environment() | (extra_environment or {}),
            timeout=timeout,
            memory_size=memory_mb,
            ephemeral_storage_size=Size.mebibytes(ephemeral_mb),
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE,
            reserved_concurrent_executions=stage.reserved_concurrency.get(name),
            recursive_loop=lambda_.RecursiveLoop.ALLOW if wakes_itself else lambda_.RecursiveLoop.TERMINATE,
            on_failure=destinations.SqsDestination(self.dead_letters) if self.dead_letters else None,
            retry_attempts=_EVENT_TRIES - 1 if called_by == "event" else None,
            max_event_age=Duration.hours(_EVENT_HOURS) if called_by == "event" else None,
        )
        self._watch(alarms, called_by)

    @property
    def arn(self) -> str:
        """The function's ARN."""
        return self.function.function_arn

    def allow(self, *actions: str, on: Sequence[str], only_through: str | None = None) -> None:
        """Let the function do exactly ``actions`` on exactly ``on``.

        Parameters
        ----------
        *actions : str
            As IAM writes them.
        on : Sequence of str
            ARNs.
        only_through : str or None
            For keys: the service that may use them for the function, for example ``dynamodb.eu-west-1.amazonaws.com``.
        """
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=list(actions),
                resources=list(on),
                conditions={"StringEquals": {"kms:ViaService": only_through}} if only_through else None,
            )
        )

    def _watch(self, alarms: Alarms, called_by: CalledBy) -> None:
        period = Duration.minutes(5)
        alarms.add(
            self,
            "Errors",
            metric=self.function.metric_errors(period=period),
            reason=f"functions/{self.name} raised, ran out of time or could not start.",
        )
        # A throttled request is an error somebody sees. A throttled event is tried again, which a reservation is for:
        # there it matters how long events wait, and whether one is given up. Of a queue, its construct watches that.
        if called_by == "request":
            alarms.add(
                self,
                "Throttles",
                metric=self.function.metric_throttles(period=period),
                reason=f"functions/{self.name} was called more often at once than the account allows.",
            )
        elif called_by == "event":
            alarms.add(
                self,
                "EventAge",
                metric=self.function.metric("AsyncEventAge", statistic=cloudwatch.Stats.MAXIMUM, period=period),
                threshold=_BACKLOG_MINUTES * 60 * 1000,
                reason=f"Events wait for functions/{self.name} for half an hour; after {_EVENT_HOURS} hours they are "
                "dead letters.",
            )
            alarms.add(
                self,
                "EventsDropped",
                metric=self.function.metric("AsyncEventsDropped", statistic=cloudwatch.Stats.SUM, period=period),
                reason=f"Events for functions/{self.name} were given up; they are dead letters, if those took them.",
            )
