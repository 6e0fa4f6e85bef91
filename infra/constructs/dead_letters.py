"""A queue for what nobody could handle, with the alarm that says so."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.alarms import Alarms


class DeadLetters(sqs.Queue):
    """A dead letter queue; anything in it is an alarm.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    alarms : Alarms
        Where the alarm goes.
    holds : str
        What is in it, for the person who gets the alarm.
    """

    def __init__(self, scope: Construct, construct_id: str, *, alarms: Alarms, holds: str) -> None:
        super().__init__(
            scope,
            construct_id,
            retention_period=Duration.days(14),
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            removal_policy=RemovalPolicy.DESTROY,
        )
        alarms.add(
            self,
            "Depth",
            metric=self.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic=cloudwatch.Stats.MAXIMUM
            ),
            reason=f"{holds} wait for a person, for 14 days at most.",
        )
