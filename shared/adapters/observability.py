"""Logs and counters: JSON lines, and CloudWatch's embedded metric format, both on standard output.

What is written are facts: ids, codes, counts, places in the code. What a user said must not get into a log by any
way, and messages of errors are one (pydantic's quote the input), so errors are written by their type and the places
they passed through. Records of other packages keep their place and lose their text for the same reason.

There is no tracer: powertools' costs more to import than a whole invocation; active tracing is set on the functions.
"""

import copy
import logging
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import PurePath
from typing import Final, Protocol, TypeVar

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from shared.domain.errors import EverthreadError
from shared.settings import FunctionSettings

OWN_PACKAGES: Final = ("shared", "functions")
"""Whose log records are written as they are."""

_log = logging.getLogger(__name__)


class InvocationFailedError(Exception):
    """What a failed invocation tells the platform, which logs it and puts it beside the event in the dead letters.

    Parameters
    ----------
    code : str
        The error's code, or its type's name.
    """


class InvocationContext(Protocol):
    """The part of Lambda's context object that is looked at here."""

    aws_request_id: str


E = TypeVar("E")
C = TypeVar("C", bound=InvocationContext)
R = TypeVar("R")


def where_raised(error: BaseException) -> list[str]:
    """Give the places an error passed through, innermost last: file, line and function, no values."""
    return [
        f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def code_of(error: BaseException) -> str:
    """Give what may be said of an error anywhere: its code, or its type's name."""
    return error.code if isinstance(error, EverthreadError) else type(error).__name__


def causes_of(error: BaseException) -> list[BaseException]:
    """Give what led to an error, nearest first."""
    causes: list[BaseException] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes


class FactsFormatter(LambdaPowertoolsFormatter):
    """Writes one JSON object a record; see the module for what is left out."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line for a record."""
        facts = copy.copy(record)
        facts.logger = record.name
        if record.exc_info and record.exc_info[1] is not None:
            facts.error = code_of(record.exc_info[1])
            facts.where = where_raised(record.exc_info[1])
            facts.causes = [code_of(cause) for cause in causes_of(record.exc_info[1])]
        facts.exc_info = facts.exc_text = facts.stack_info = None
        if record.name.partition(".")[0] not in OWN_PACKAGES:
            facts.msg, facts.args = "(text of another package)", None
        return super().format(facts)


class _StandardOutput(logging.Handler):
    """Writes to whatever standard output is at the time, as the counters do; Lambda's bootstrap replaces it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stdout.write(self.format(record) + "\n")
            sys.stdout.flush()
        except Exception:  # noqa: BLE001 - as every handler of the standard library: logging never breaks the caller
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Say that a record was lost; the standard library would print it, text and arguments."""
        sys.stderr.write(f"A log record of {record.name} could not be written.\n")


def configure_logging(function: str, settings: FunctionSettings) -> None:
    """Send every log record of the process to standard output as JSON.

    Parameters
    ----------
    function : str
        The function's name; it is on every line as ``service``.
    settings : FunctionSettings
        Gives the stage and the level of our own packages. Others are heard from ``WARNING`` on.
    """
    handler = _StandardOutput()
    handler.setFormatter(
        FactsFormatter(
            serialize_stacktrace=False,
            utc=True,
            use_rfc3339=True,
            service=function,
            stage=settings.stage,
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for package in OWN_PACKAGES:
        logging.getLogger(package).setLevel(settings.log_level)


class EmfMetrics:
    """Counters that CloudWatch reads from the log; implements the port ``Metrics``.

    Parameters
    ----------
    namespace : str
        CloudWatch's namespace, see ``FunctionSettings.metrics_namespace``.
    function : str
        The value of the one dimension, ``service``.
    """

    def __init__(self, namespace: str, function: str) -> None:
        self._provider = AmazonCloudWatchEMFProvider(namespace=namespace, service=function)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter; written at the next :meth:`flush`."""
        with self._lock:
            self._counts[name] += value

    def flush(self) -> None:
        """Write what was counted since the last time as one line; nothing when nothing was."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        for name, value in counts.items():
            self._provider.add_metric(name=name, unit="Count", value=value)
        self._provider.flush_metrics()


def observed(handler: Callable[[E, C], R], metrics: EmfMetrics) -> Callable[[E, C], R]:
    """Wrap a Lambda handler so that its counters are written and its failures are told by code only.

    Parameters
    ----------
    handler : callable
        Takes the event and Lambda's context.
    metrics : EmfMetrics
        Flushed after every invocation, failed ones too.

    Returns
    -------
    callable
        A handler that raises :class:`InvocationFailedError` where ``handler`` raises anything.
    """

    def observe(event: E, context: C) -> R:
        try:
            return handler(event, context)
        except Exception as error:  # noqa: BLE001 - raised again below, without what it says
            _log.exception("invocation failed", extra={"request_id": context.aws_request_id})
            # "from None": the platform would print the cause, message and all.
            raise InvocationFailedError(code_of(error)) from None
        finally:
            metrics.flush()

    return observe
