import json
import logging

import pytest

from shared.adapters.observability import EmfMetrics, InvocationFailedError, configure_logging, observed
from shared.domain.errors import StoreError, ThreadNotFoundError
from shared.settings import FunctionSettings

SECRET = "the-user-said-this"


class Context:
    aws_request_id = "req-1"


@pytest.fixture
def logs(capsys):
    """Log as a function does, and read the lines back."""
    root, own = logging.getLogger(), [logging.getLogger(name) for name in ("shared", "functions")]
    before = root.handlers, root.level, [logger.level for logger in own]
    configure_logging("summarize", FunctionSettings(stage="test", log_level="INFO"))
    yield lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    root.handlers, root.level = before[0], before[1]
    for logger, level in zip(own, before[2], strict=True):
        logger.setLevel(level)


def test_a_record_is_one_json_object_with_its_facts(logs):
    logging.getLogger("shared.services.x").info("pass written", extra={"sequence": 3})
    (line,) = logs()
    assert line["message"] == "pass written"
    assert line["sequence"] == 3
    assert line["service"] == "summarize"
    assert line["stage"] == "test"
    assert line["level"] == "INFO"
    assert line["logger"] == "shared.services.x"


def test_the_level_is_that_of_the_settings(logs):
    logging.getLogger("shared.services.x").debug("too much")
    assert logs() == []


def test_an_error_is_logged_by_type_and_place_never_by_message(logs):
    # Habit 14: messages of errors quote what they were given.
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise StoreError(SECRET) from error
    except StoreError:
        logging.getLogger("functions.purge.app").exception("purge failed")
    (line,) = logs()
    assert line["error"] == "STORE_UNAVAILABLE"
    assert line["causes"] == ["KeyError"]
    assert any("test_observability.py" in place for place in line["where"])
    assert SECRET not in json.dumps(line)


def test_other_packages_keep_their_place_and_lose_their_text(logs):
    logging.getLogger("some_sdk.http").warning("request %s failed", SECRET)
    (line,) = logs()
    assert line["logger"] == "some_sdk.http"
    assert line["level"] == "WARNING"
    assert SECRET not in json.dumps(line)


def test_other_packages_are_not_heard_below_warning(logs):
    logging.getLogger("some_sdk.http").info("chatter")
    assert logs() == []


@pytest.mark.usefixtures("logs")
def test_a_record_that_cannot_be_written_is_not_printed_either(capsys):
    class Unwritable:
        def __str__(self):
            raise ValueError(SECRET)

    logging.getLogger("shared.services.x").error("odd", extra={"thing": Unwritable()})
    printed = capsys.readouterr()
    assert "shared.services.x" in printed.err
    assert SECRET not in printed.err + printed.out


def test_counters_are_written_once_as_embedded_metrics(capsys):
    metrics = EmfMetrics("Everthread/test", "summarize")
    metrics.count("SummaryWritten")
    metrics.count("SummaryWritten")
    metrics.count("SummaryRefsDropped", 5)
    metrics.flush()
    metrics.flush()
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    directive = line["_aws"]["CloudWatchMetrics"][0]
    assert directive["Namespace"] == "Everthread/test"
    assert directive["Dimensions"] == [["service"]]
    assert {metric["Name"] for metric in directive["Metrics"]} == {"SummaryWritten", "SummaryRefsDropped"}
    assert line["service"] == "summarize"
    assert line["SummaryWritten"] == [2.0]
    assert line["SummaryRefsDropped"] == [5.0]


def test_the_dimension_stays_after_the_first_flush(capsys):
    metrics = EmfMetrics("Everthread/test", "purge")
    for _ in range(2):
        metrics.count("ThreadPurged")
        metrics.flush()
    assert [json.loads(line)["service"] for line in capsys.readouterr().out.splitlines()] == ["purge", "purge"]


def test_a_handler_gives_its_reply_and_its_counters(capsys):
    metrics = EmfMetrics("Everthread/test", "purge")

    def handle(event, _context):
        metrics.count("ThreadPurged", event["n"])
        return {"ok": True}

    assert observed(handle, metrics)({"n": 2}, Context()) == {"ok": True}
    assert json.loads(capsys.readouterr().out)["ThreadPurged"] == [2.0]


@pytest.mark.parametrize(
    ("error", "code"), [(ThreadNotFoundError(SECRET), "NOT_FOUND"), (ValueError(SECRET), "ValueError")]
)
def test_a_failed_handler_tells_the_platform_its_code_only(logs, error, code):
    # The platform prints the message and the cause of what a handler raises.
    metrics = EmfMetrics("Everthread/test", "purge")

    def handle(_event, _context):
        metrics.count("PurgeWaited")
        raise error

    with pytest.raises(InvocationFailedError) as raised:
        observed(handle, metrics)({}, Context())
    assert str(raised.value) == code
    assert raised.value.__suppress_context__
    failure, counters = logs()
    assert failure["request_id"] == "req-1"
    assert failure["error"] == code
    assert counters["PurgeWaited"] == [1.0]
    assert SECRET not in json.dumps([failure, counters])
