import json

import pytest

from shared.domain.counters import TOOL_FAILED
from shared.domain.errors import CorruptItemError, MemorySizeError, NotFoundError, StoreError
from shared.graphs.agent.tools.failures import UNEXPECTED, failure_answers
from tests.fakes.metrics import CountingMetrics


@pytest.mark.parametrize("error", [StoreError("down"), CorruptItemError("odd"), NotFoundError("no such town")])
def test_what_was_foreseen_is_told_and_is_no_failed_save_whatever_the_tool(error):
    metrics = CountingMetrics()

    answer = json.loads(failure_answers(metrics)(error))

    assert answer == {"ok": False, "code": error.code, "message": str(error)}
    assert not metrics.counts


def test_a_profile_over_its_limit_is_told_with_both_numbers():
    # SM23
    answer = json.loads(failure_answers(CountingMetrics())(MemorySizeError(9000, 8192)))

    assert (answer["attemptedBytes"], answer["maxBytes"]) == (9000, 8192)


def test_what_was_not_foreseen_is_counted_and_says_nothing():
    metrics = CountingMetrics()

    answer = json.loads(failure_answers(metrics)(ValueError("the user's words")))

    assert answer == {"ok": False, "code": "INTERNAL", "message": UNEXPECTED}
    assert metrics.counts == {TOOL_FAILED: 1}
