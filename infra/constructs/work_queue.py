"""A queue that feeds a function, and where its failures end."""

from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.alarms import Alarms
from infra.constructs.dead_letters import DeadLetters
from infra.constructs.python_function import PythonFunction

AT_ONCE: Final = 5
"""How many invocations may work on one queue. Not reserved concurrency: the pollers do not know of it, so what they
fetch beyond it is throttled, counts as a delivery and ends with the dead letters without having been looked at."""

_USUAL_DELIVERIES: Final = 3


class WorkQueue(Construct):
    """A standard queue with dead letters.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    timeout : Duration
        How long the function that reads it may run. A message is hidden for six times as long, as Lambda asks.
    tries : int
        How often a message is delivered before it is a dead letter.
    alarms : Alarms
        Where the alarms on dead letters and on old messages go.
    carries : str
        What its messages are, for the person who gets that alarm.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        timeout: Duration,
        tries: int,
        alarms: Alarms,
        carries: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self.dead_letters = DeadLetters(
            self, "DeadLetters", alarms=alarms, holds=f"{carries} that failed {tries} times"
        )
        hidden = 6 * timeout.to_seconds()
        self.queue = sqs.Queue(
            self,
            "Queue",
            visibility_timeout=Duration.seconds(hidden),
            retention_period=Duration.days(14),
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=tries),
            removal_policy=RemovalPolicy.DESTROY,
        )
        alarms.add(
            self,
            "OldestMessage",
            metric=self.queue.metric_approximate_age_of_oldest_message(
                period=Duration.minutes(5), statistic=cloudwatch.Stats.MAXIMUM
            ),
            threshold=int(_USUAL_DELIVERIES * hidden),
            reason=f"{carries} have waited for longer than {_USUAL_DELIVERIES} deliveries take.",
        )

    def feed(self, function: PythonFunction, *, batch: int) -> None:
        """Let ``function`` take up to ``batch`` messages at once and hand back those that failed."""
        function.allow(
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:ChangeMessageVisibility",
            on=[self.queue.queue_arn],
        )
        lambda_.EventSourceMapping(
            function,
            "Source",
            target=function.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=batch,
            max_concurrency=AT_ONCE,
            report_batch_item_failures=True,
        )
