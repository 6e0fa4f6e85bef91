"""What clients are told of an error: a code, and nothing else."""

from typing import Final

from langgraph.errors import EmptyInputError, GraphRecursionError, InvalidUpdateError, UnknownInterruptError

from shared.domain.errors import EverthreadError, InvalidInputError

RECURSION_LIMIT: Final = "RECURSION_LIMIT"
OUT_OF_TIME: Final = "RUN_TIMEOUT"
AMBIGUOUS_RESUME: Final = "AMBIGUOUS_RESUME"
UNKNOWN_INTERRUPT: Final = "UNKNOWN_INTERRUPT"
INTERNAL: Final = "INTERNAL"


def failure_code(error: Exception) -> str:
    """Give the code that a client is told of an error."""
    match error:
        case EverthreadError():
            return error.code
        case GraphRecursionError():
            return RECURSION_LIMIT
        case UnknownInterruptError(reason="ambiguous"):
            return AMBIGUOUS_RESUME
        case UnknownInterruptError():
            return UNKNOWN_INTERRUPT
        case EmptyInputError() | InvalidUpdateError():
            return InvalidInputError.code
        case _:
            return INTERNAL
