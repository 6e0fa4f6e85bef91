"""The bus on which ended turns are announced, and the rule that wakes the summary pass."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.constructs.alarms import Alarms
from infra.constructs.dead_letters import DeadLetters
from infra.constructs.python_function import PythonFunction
from infra.stages import Stage
from shared.domain.events import DETAIL_TYPE, SOURCE


class TurnEvents(Construct):
    """A bus of its own: nothing else can put events before the summary pass by accident.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    stage : Stage
        Part of the bus's name.
    alarms : Alarms
        Where the alarm on undelivered events goes.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, alarms: Alarms) -> None:
        super().__init__(scope, construct_id)
        # Named by hand: the name that CDK makes is the same in every stage of an account.
        self.bus = events.EventBus(
            self, "Bus", event_bus_name=f"everthread-{stage.name}-turns", description="Turns that ended"
        )
        self._undelivered = DeadLetters(
            self, "Undelivered", alarms=alarms, holds="Turn ends that EventBridge could not hand to Lambda"
        )

    def wake(self, function: PythonFunction) -> None:
        """Hand every ended turn to ``function``, at least once.

        Two layers try again: EventBridge until Lambda has taken the event, Lambda until the function has handled it.
        """
        events.Rule(
            self,
            "TurnEnded",
            event_bus=self.bus,
            description="A turn has ended: look whether a summary is due",
            event_pattern=events.EventPattern(source=[SOURCE], detail_type=[DETAIL_TYPE]),
            targets=[
                targets.LambdaFunction(
                    function.function,
                    dead_letter_queue=self._undelivered,
                    retry_attempts=20,
                    max_event_age=Duration.hours(2),
                )
            ],
        )
