"""Each function as it is deployed."""

import re
from datetime import timedelta
from typing import Any

import pytest

from infra.constructs.counter_alarms import UNWATCHED, WATCHED
from infra.functions import FUNCTIONS
from local.model.embeddings import EMBEDDING_MODEL
from local.model.minilm.model import DIMENSION
from shared.adapters import aws
from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.parsing.limits import ParseLimits
from shared.domain import counters
from shared.settings import ChatSettings, KbIngestSettings, PurgeSettings, SummarizeSettings
from tests.infra.templates import Synthesised, properties_of, resources_of, text_of

EXEC_WRAPPER = "AWS_LAMBDA_EXEC_WRAPPER"


def variables(function: dict[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in function["Environment"]["Variables"].items()}


def test_what_is_deployed_is_what_there_are_settings_for(prod: Synthesised) -> None:
    assert prod.functions.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_functions_variables_read_back_as_its_settings(prod: Synthesised, name: str) -> None:
    deployed = variables(prod.functions[name])

    settings = FUNCTIONS[name].from_environment(deployed)

    assert settings.stage == "prod"
    assert settings.environment() == {key: value for key, value in deployed.items() if key != EXEC_WRAPPER}


def test_variables_point_at_what_the_stacks_made(prod: Synthesised) -> None:
    chat = variables(prod.functions["chat"])
    assert chat["MEMORY_TABLE"] == "<MemoryTable>"
    assert chat["CHECKPOINT_TABLE"] == "<CheckpointsTable>"
    assert chat["EVENT_BUS"].startswith("<TurnEventsBus")
    assert chat["PURGE_QUEUE_URL"].startswith("<PurgesQueue")
    assert variables(prod.functions["kb_ingest"])["BUCKET"] == "<UploadsBucket>"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_runs_on_arm_with_json_logs_of_its_own_and_traces(prod: Synthesised, name: str) -> None:
    function = prod.functions[name]
    assert function["Architectures"] == ["arm64"]
    assert function["Runtime"] == "python3.13"
    assert function["TracingConfig"] == {"Mode": "Active"}
    logging = function["LoggingConfig"]
    assert logging["LogFormat"] == "JSON"
    log_group = prod.service["Resources"][logging["LogGroup"]["Ref"]]
    assert log_group["Properties"]["RetentionInDays"] == 90


def test_the_chat_function_starts_through_the_bootstrap_that_streams(prod: Synthesised) -> None:
    wrapped = {name for name in FUNCTIONS if EXEC_WRAPPER in variables(prod.functions[name])}
    assert wrapped == {"chat"}
    assert variables(prod.functions["chat"])[EXEC_WRAPPER] == "/var/task/functions/chat/bootstrap"


def test_a_pass_is_over_before_its_claim_is(prod: Synthesised) -> None:
    claimed_for = SummarizeSettings.model_fields["claim_seconds"].default
    assert prod.functions["summarize"]["Timeout"] < claimed_for


def test_a_pass_hears_of_a_silent_model_before_its_time_is_up(prod: Synthesised) -> None:
    """Else it would end by the platform's hand, and with an alarm instead of a failed attempt."""
    settings = SummarizeSettings.from_environment(variables(prod.functions["summarize"]))
    model = aws._CONFIGS["bedrock-runtime"]
    last_attempt = Attempts().longest_wait + model.connect_timeout + model.read_timeout
    assert settings.model_patience_seconds + last_attempt < prod.functions["summarize"]["Timeout"]


def test_a_turn_may_take_as_long_as_its_stream(prod: Synthesised) -> None:
    assert prod.functions["chat"]["Timeout"] == 15 * 60


def test_prod_bounds_what_a_backlog_of_turn_ends_may_take(prod: Synthesised, dev: Synthesised) -> None:
    reserved = {name: function.get("ReservedConcurrentExecutions") for name, function in prod.functions.items()}
    # Those that read a queue are bounded where it is polled.
    assert reserved == {"chat": None, "summarize": 20, "memory_api": None, "purge": None, "kb_ingest": None}
    # A new account has ten environments in all: reserving any would make its first deployment fail.
    assert not [f for f in dev.functions.values() if "ReservedConcurrentExecutions" in f]


def test_every_function_has_alarms_on_what_its_caller_loses_that_reach_the_topic(prod: Synthesised) -> None:
    """A throttled request is lost. A throttled event is tried again, and a reservation is there to make it wait."""
    [topic] = resources_of(prod.service, "AWS::SNS::Topic")
    watched = set()
    for alarm in properties_of(prod.service, "AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == [{"Ref": topic}]
        assert alarm["TreatMissingData"] == "notBreaching"
        if alarm["Namespace"] == "AWS/Lambda":
            [dimension] = alarm["Dimensions"]
            watched.add((re.sub("[0-9A-F]{8}", "", text_of(dimension["Value"])), alarm["MetricName"]))
    assert watched == {
        *((f"<{name}Function>", "Errors") for name in ("Chat", "Summarize", "MemoryApi", "Purge", "KbIngest")),
        ("<ChatFunction>", "Throttles"),
        ("<MemoryApiFunction>", "Throttles"),
        ("<SummarizeFunction>", "AsyncEventAge"),
        ("<SummarizeFunction>", "AsyncEventsDropped"),
    }


def test_events_that_wait_raise_an_alarm_before_they_are_given_up(prod: Synthesised) -> None:
    alarms = properties_of(prod.service, "AWS::CloudWatch::Alarm")
    [age] = [alarm for alarm in alarms if alarm["MetricName"] == "AsyncEventAge"]
    [config] = properties_of(prod.service, "AWS::Lambda::EventInvokeConfig")
    assert age["Statistic"] == "Maximum"
    assert age["Threshold"] / 1000 < config["MaximumEventAgeInSeconds"]


def test_what_functions_count_as_wrong_raises_an_alarm(prod: Synthesised) -> None:
    """The namespace and dimension are those that the functions write to."""
    own = [
        alarm for alarm in properties_of(prod.service, "AWS::CloudWatch::Alarm") if "Everthread" in alarm["Namespace"]
    ]
    watched = {
        (alarm["Namespace"], alarm["Dimensions"][0]["Name"], alarm["Dimensions"][0]["Value"], alarm["MetricName"])
        for alarm in own
    }
    namespace = ChatSettings.from_environment(variables(prod.functions["chat"])).metrics_namespace
    assert {
        (namespace, "service", "chat", counters.RECALL_DEGRADED),
        (namespace, "service", "chat", counters.TURN_EVENT_FAILED),
        (namespace, "service", "summarize", counters.SUMMARY_EXHAUSTED),
        (namespace, "service", "chat", counters.PURGE_NOT_QUEUED),
        (namespace, "service", "memory_api", counters.PURGE_NOT_QUEUED),
        (namespace, "service", "purge", counters.PURGE_REFUSED),
    } <= watched
    assert {alarm["Statistic"] for alarm in own} == {"Sum"}


def test_each_counter_raises_an_alarm_or_has_a_reason_not_to() -> None:
    every = {value for name, value in vars(counters).items() if name.isupper() and isinstance(value, str)}
    watched = {each.counter for each in WATCHED}
    assert watched | UNWATCHED.keys() == every
    assert not watched & UNWATCHED.keys()


def test_a_purge_waits_longer_than_a_lease_and_less_than_its_time(prod: Synthesised) -> None:
    settings = PurgeSettings.from_environment(variables(prod.functions["purge"]))
    chat = ChatSettings.from_environment(variables(prod.functions["chat"]))
    assert chat.lease_seconds < settings.purge_patience_seconds < prod.functions["purge"]["Timeout"]


def test_what_summarize_cannot_handle_is_kept(prod: Synthesised) -> None:
    [config] = properties_of(prod.service, "AWS::Lambda::EventInvokeConfig")
    assert text_of(config["FunctionName"]).startswith("<SummarizeFunction")
    assert text_of(config["DestinationConfig"]["OnFailure"]["Destination"]) == "<SummarizeDeadLetters.Arn>"
    assert config["MaximumRetryAttempts"] == 2


def test_the_local_cloud_is_told_where_its_model_is() -> None:
    from infra.stages import stage_of

    assert stage_of({"stage": "local", "model_endpoint": "http://127.0.0.1:9"}).model_endpoint == "http://127.0.0.1:9"
    with pytest.raises(ValueError, match="model_endpoint"):
        stage_of({"stage": "dev", "model_endpoint": "http://127.0.0.1:9"})


def test_spans_can_be_turned_off_or_kept_for_longer() -> None:
    from infra.stages import stage_of

    assert stage_of({}).traces.keep_traces_for == timedelta(days=30)
    assert stage_of({"spans": "off"}).traces.keep_traces_for is None
    assert stage_of({"span_days": "90"}).traces.keep_traces_for == timedelta(days=90)
    with pytest.raises(ValueError, match="spans"):
        stage_of({"spans": "some"})


def test_ingestion_has_room_for_a_file_and_time_for_its_deliveries(prod: Synthesised, local: Synthesised) -> None:
    function = prod.functions["kb_ingest"]
    settings = KbIngestSettings.from_environment(variables(function))
    limits = ParseLimits(max_bytes=settings.document_max_bytes)
    mebibyte = 1024 * 1024
    # The parser's process, the file and what came out of it, and the function itself.
    needed = limits.memory_bytes + 2 * limits.max_bytes + limits.max_result_bytes
    assert function["MemorySize"] * mebibyte > needed + 300 * mebibyte
    assert function["EphemeralStorage"]["Size"] * mebibyte > limits.max_bytes + limits.max_result_bytes
    assert function["Timeout"] > limits.seconds + 60, "one document can be read, and a part of it embedded"
    # It counts its own rounds; a loop of any other function is ended.
    loops = {name: each["RecursiveLoop"] for name, each in prod.functions.items()}
    assert [name for name, loop in loops.items() if loop == "Allow"] == ["kb_ingest"]
    queues = resources_of(prod.service, "AWS::SQS::Queue")
    [queue] = [each for name, each in queues.items() if name.startswith("ObjectEventsQueue")]
    assert queue["Properties"]["RedrivePolicy"]["maxReceiveCount"] == settings.deliveries


def test_the_local_cloud_embeds_with_the_local_model_and_reads_no_pictures(local: Synthesised) -> None:
    settings = KbIngestSettings.from_environment(variables(local.functions["kb_ingest"]))
    assert (settings.embedding_model, settings.embedding_dimension) == (EMBEDDING_MODEL, DIMENSION)
    assert (settings.vector_index_arn, settings.ocr) == ("", "none")
