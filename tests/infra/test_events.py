"""From the bus and the bucket to the functions, and where failures end."""

from typing import Any

import pytest

from shared.domain.events import DETAIL_TYPE, SOURCE
from shared.domain.uploads import USERS_PREFIX
from tests.infra.templates import Synthesised, only, properties_of, resources_of, text_of


def rule_for(prod: Synthesised, source: str) -> dict[str, Any]:
    rules = properties_of(prod.service, "AWS::Events::Rule")
    return only([rule for rule in rules if source in rule["EventPattern"]["source"]])


def queue_named(prod: Synthesised, start: str) -> dict[str, Any]:
    queues = resources_of(prod.service, "AWS::SQS::Queue")
    return only([queue["Properties"] for name, queue in queues.items() if name.startswith(start)])


def test_an_ended_turn_wakes_summarize(prod: Synthesised) -> None:
    """TR06: the rule, the publisher and the consumer read the same names."""
    rule = rule_for(prod, SOURCE)
    assert rule["EventPattern"] == {"source": [SOURCE], "detail-type": [DETAIL_TYPE]}
    assert text_of(rule["EventBusName"]).startswith("<TurnEventsBus")
    assert rule["State"] == "ENABLED"
    assert text_of(only(rule["Targets"])["Arn"]) == "<SummarizeFunction.Arn>"


@pytest.mark.parametrize(
    ("source", "end"), [(SOURCE, "<TurnEventsUndelivered.Arn>"), ("aws.s3", "<ObjectEventsDeadLetters.Arn>")]
)
def test_an_event_that_cannot_be_delivered_is_tried_again_then_kept(prod: Synthesised, source: str, end: str) -> None:
    target = only(rule_for(prod, source)["Targets"])
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 7200, "MaximumRetryAttempts": 20}
    assert text_of(target["DeadLetterConfig"]["Arn"]) == end


def test_two_stages_of_one_account_have_two_buses(prod: Synthesised, dev: Synthesised) -> None:
    names = {only(properties_of(stage.service, "AWS::Events::EventBus"))["Name"] for stage in (prod, dev)}
    assert names == {"everthread-prod-turns", "everthread-dev-turns"}


def test_an_upload_and_a_deletion_are_queued_for_kb_ingest(prod: Synthesised) -> None:
    rule = rule_for(prod, "aws.s3")
    assert rule["EventPattern"]["detail-type"] == ["Object Created", "Object Deleted"]
    detail = rule["EventPattern"]["detail"]
    assert [text_of(name) for name in detail["bucket"]["name"]] == ["<UploadsBucket>"]
    assert detail["object"]["key"] == [{"prefix": USERS_PREFIX}]
    assert text_of(only(rule["Targets"])["Arn"]) == "<ObjectEventsQueue.Arn>"


def test_a_queue_hides_a_message_six_times_as_long_as_its_function_may_run(prod: Synthesised) -> None:
    for function, queue, batch in (("purge", "Purges", 1), ("kb_ingest", "ObjectEvents", 1)):
        properties = queue_named(prod, f"{queue}Queue")
        assert properties["VisibilityTimeout"] == 6 * prod.functions[function]["Timeout"]
        source = only(
            [
                mapping
                for mapping in properties_of(prod.service, "AWS::Lambda::EventSourceMapping")
                if text_of(mapping["EventSourceArn"]) == f"<{queue}Queue.Arn>"
            ]
        )
        assert source["BatchSize"] == batch
        # One message that fails does not bring back those beside it.
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        # What is fetched is worked on: a poller does not know of reserved concurrency and would burn deliveries.
        assert source["ScalingConfig"] == {"MaximumConcurrency": 5}
        assert "ReservedConcurrentExecutions" not in prod.functions[function]
        redrive = properties["RedrivePolicy"]
        assert text_of(redrive["deadLetterTargetArn"]) == f"<{queue}DeadLetters.Arn>"
        assert redrive["maxReceiveCount"] >= 5, "as Lambda asks"


def alarms_on_queues(prod: Synthesised, metric: str) -> dict[str, dict[str, Any]]:
    return {
        text_of(only(alarm["Dimensions"])["Value"]): alarm
        for alarm in properties_of(prod.service, "AWS::CloudWatch::Alarm")
        if (alarm["Namespace"], alarm["MetricName"]) == ("AWS/SQS", metric)
    }


def test_every_place_where_failures_end_has_an_alarm(prod: Synthesised) -> None:
    ends = {name for name in resources_of(prod.service, "AWS::SQS::Queue") if "Queue" not in name}
    alarms = alarms_on_queues(prod, "ApproximateNumberOfMessagesVisible")
    assert len(ends) == 4
    assert len({alarm["AlarmDescription"] for alarm in alarms.values()}) == 4, "each says what waits there"
    assert {f"<{name.rstrip('0123456789ABCDEF')}.QueueName>" for name in ends} == alarms.keys()


def test_a_queue_whose_messages_wait_raises_an_alarm_when_they_do_longer_than_usual(prod: Synthesised) -> None:
    """Its function is throttled without an alarm: a message that was not taken comes again."""
    alarms = alarms_on_queues(prod, "ApproximateAgeOfOldestMessage")
    assert alarms.keys() == {"<PurgesQueue.QueueName>", "<ObjectEventsQueue.QueueName>"}
    for queue in ("Purges", "ObjectEvents"):
        properties = queue_named(prod, f"{queue}Queue")
        alarm = alarms[f"<{queue}Queue.QueueName>"]
        assert alarm["Statistic"] == "Maximum"
        assert 2 * properties["VisibilityTimeout"] < alarm["Threshold"]
        tries = properties["RedrivePolicy"]["maxReceiveCount"]
        assert alarm["Threshold"] < tries * properties["VisibilityTimeout"], "before the message is given up"


def test_queues_are_encrypted_and_take_tls_only(prod: Synthesised) -> None:
    queues = resources_of(prod.service, "AWS::SQS::Queue")
    assert all(queue["Properties"]["SqsManagedSseEnabled"] for queue in queues.values())
    refused = {
        text_of(queue)
        for policy in properties_of(prod.service, "AWS::SQS::QueuePolicy")
        for queue in policy["Queues"]
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert refused == {f"<{name}>" for name in queues}
