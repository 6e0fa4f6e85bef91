import logging

import pytest

from shared.adapters.observability import OWN_PACKAGES, EmfMetrics, InvocationFailedError, configure_logging, observed
from shared.settings import FunctionSettings


class Context:
    """What Lambda hands to a handler, as far as anybody looks at it."""

    aws_request_id = "8f7a1c52-0000-4000-8000-000000000001"

    def get_remaining_time_in_millis(self):
        return 120_000


class Deployed:
    """Runs handlers as they are deployed: logs, counters and all.

    Attributes
    ----------
    metrics
        For the handler's own counters.
    failure
        What the last invocation raised; ``None`` when it gave a reply.
    """

    def __init__(self, capsys):
        self._capsys = capsys
        self.metrics = EmfMetrics("Everthread/test", "under-test")
        self.failure = None

    def invoke(self, handler, event):
        """Run one invocation; give its reply, or ``None`` when it failed."""
        self.failure = None
        try:
            return observed(handler, self.metrics)(event, Context())
        except InvocationFailedError as error:
            self.failure = error
            return None

    def printed(self):
        """Everything that got out: the lines of the log, and what the platform would print of the failure."""
        captured = self._capsys.readouterr()
        return captured.out + captured.err + repr(self.failure)


@pytest.fixture
def deployed(capsys):
    """A function's process, logging as chattily as settings allow."""
    root = logging.getLogger()
    before = [(logger, logger.level) for logger in (root, *(logging.getLogger(name) for name in OWN_PACKAGES))]
    handlers = root.handlers
    configure_logging("under-test", FunctionSettings(log_level="DEBUG"))
    yield Deployed(capsys)
    root.handlers = handlers
    for logger, level in before:
        logger.setLevel(level)


@pytest.fixture
def context():
    return Context()
