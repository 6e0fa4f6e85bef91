"""Where alarms go."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


class Alarms(Construct):
    """One topic that every alarm of the stack is sent to.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    email : str or None
        Who is subscribed; without an address the alarms can be seen in CloudWatch.
    """

    def __init__(self, scope: Construct, construct_id: str, *, email: str | None) -> None:
        super().__init__(scope, construct_id)
        self.topic = sns.Topic(self, "Topic", enforce_ssl=True)
        if email:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))

    def add(
        self, scope: Construct, construct_id: str, *, metric: cloudwatch.IMetric, reason: str, threshold: int = 1
    ) -> None:
        """Raise an alarm whenever ``metric`` reaches ``threshold`` within one of its periods.

        Parameters
        ----------
        scope, construct_id
            Beside what it watches.
        metric : cloudwatch.IMetric
            What is watched. No data is good news.
        reason : str
            What the person who gets it should know.
        threshold : int
            The value that is too much.
        """
        alarm = cloudwatch.Alarm(
            scope,
            construct_id,
            metric=metric,
            alarm_description=reason,
            threshold=threshold,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
