"""What the model is told when a tool fails: something it can act on, and nothing else."""

import json
import logging
from collections.abc import Callable
from typing import Any, Final

from langgraph.prebuilt.tool_node import ToolInvocationError

from shared.domain.counters import TOOL_FAILED
from shared.domain.errors import EverthreadError, InvalidInputError, MemorySizeError
from shared.ports import Metrics

UNEXPECTED: Final = "The tool failed. Do not retry it in this turn."

_log = logging.getLogger(__name__)


def failure_text(code: str, message: str, **facts: object) -> str:
    """Give the content of a tool message that says that a call failed."""
    return json.dumps({"ok": False, "code": code, "message": message, **facts}, ensure_ascii=False)


def failure_answers(metrics: Metrics) -> Callable[[Exception], str]:
    """Make what turns an error of a tool into its answer.

    Parameters
    ----------
    metrics : Metrics
        Counts what nobody expected.
    """

    def answer(error: Exception) -> str:
        match error:
            case ToolInvocationError():
                return failure_text(InvalidInputError.code, _faults(error))
            case MemorySizeError():
                return failure_text(
                    error.code, str(error), attemptedBytes=error.attempted_bytes, maxBytes=error.max_bytes
                )
            case EverthreadError():
                return failure_text(error.code, str(error))
            case _:
                # Its text may hold anything; only the log gets the error, which writes types and places.
                metrics.count(TOOL_FAILED)
                _log.error("tool failed", exc_info=error)
                return failure_text(EverthreadError.code, UNEXPECTED)

    return answer


def _faults(error: ToolInvocationError) -> str:
    """Say what is wrong with the arguments, place by place, without repeating them."""
    faults: list[Any] = list(error.filtered_errors or error.source.errors(include_url=False, include_input=False))
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
