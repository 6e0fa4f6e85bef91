"""What a client is told of a run that failed after its reply had begun."""

from typing import Final

_ELSE: Final = "Something went wrong on our side. Your message is kept."

_MESSAGES: Final = {
    "MODEL_THROTTLED": "The model is busy at the moment. Your message is kept; try again in a while.",
    "MODEL_TIMEOUT": "The model did not answer in time. Your message is kept; try again.",
    "MODEL_UNAVAILABLE": "The model cannot be reached at the moment. Your message is kept; try again in a while.",
    "MODEL_REFUSED": (
        "The model does not take this message. It is kept, but its images are not sent again: go on with another "
        "message, or edit this one."
    ),
    "MODEL_FORBIDDEN": "The model may not be used here. Your message is kept; whoever runs the service has to act.",
    "MODEL_ERROR": "The model gave no usable answer. Your message is kept; try again.",
    "STORE_UNAVAILABLE": "The thread cannot be read or stored at the moment; try again in a while.",
    "RUN_FAILED": "The run failed. Your message is kept; try again.",
    "LEASE_LOST": "Another run has taken this thread over.",
    "RECURSION_LIMIT": "The run took more steps than it may.",
    "RUN_TIMEOUT": "The run took longer than it may. What there is of the answer is kept.",
    "AMBIGUOUS_RESUME": "Several questions are open: answer them by the ids of their interrupts.",
    "UNKNOWN_INTERRUPT": "No such question is open.",
    "BAD_REQUEST": "The run cannot go on with this.",
    "ITEM_TOO_LARGE": "The thread holds something that is too large to be stored.",
}


def error_data(code: str) -> dict[str, str]:
    """Give an ``error`` event's data.

    Parameters
    ----------
    code : str
        What a client may switch on.
    """
    return {"error": code, "message": _MESSAGES.get(code, _ELSE)}
