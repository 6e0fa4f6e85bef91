"""What an AG-UI client asks for."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from ag_ui.core import ResumeEntry, RunAgentInput
from langchain_core.messages import AnyMessage
from pydantic import ValidationError

from shared.adapters.agui.messages import read_messages, with_todays_parts
from shared.domain.errors import InvalidInputError
from shared.domain.ids import ThreadId, parse_thread_id

CANCELLED: Final = {"__agui_cancelled__": True}
"""What a node gets that asked and was turned away: the mark that the protocol's own adapter for LangGraph uses."""

_INTERRUPT_ID: Final = re.compile(r"[0-9a-f]{32}")

# Silently left out, each would be a promise that is not kept.
_REFUSED: Final = {
    "tools": "The agent has its own tools; a client's are not called.",
    "context": "The graph takes no context.",
    "state": "The thread's state is kept here; a client's is not taken over.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AguiInput:
    """A request, understood.

    Parameters
    ----------
    thread : str
        The conversation.
    run : str
        What the client calls the run; not the id it is known by here.
    messages : sequence of message
        The conversation as the client has it.
    resume : mapping or None
        Answers by interrupt id.
    """

    thread: ThreadId
    run: str
    messages: Sequence[AnyMessage]
    resume: Mapping[str, Any] | None = None


def read_input(body: object, *, new_id: Callable[[], str]) -> AguiInput:
    """Understand a request.

    Parameters
    ----------
    body : object
        The JSON of a request.
    new_id : callable
        Makes an id for a message without one.

    Raises
    ------
    InvalidInputError
        Naming what does not fit, or is not supported. Nothing of what was said is repeated.
    """
    try:
        given = RunAgentInput.model_validate(with_todays_parts(body))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "body"
        raise InvalidInputError(f"{where}: {problem['msg']}") from None
    for name, why in _REFUSED.items():
        if getattr(given, name):
            raise InvalidInputError(f"{name}: {why}")
    for name in given.model_extra or ():
        raise InvalidInputError(f"{name[:100]}: There is no such field.")
    return AguiInput(
        thread=parse_thread_id(given.thread_id),
        run=given.run_id,
        messages=read_messages(given.messages, new_id=new_id),
        resume=_answers(given.resume) if given.resume else None,
    )


def _answers(entries: Sequence[ResumeEntry]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for index, entry in enumerate(entries):
        if not _INTERRUPT_ID.fullmatch(entry.interrupt_id):
            raise InvalidInputError(f"resume.{index}.interruptId: No interrupt has such an id.")
        answers[entry.interrupt_id] = CANCELLED if entry.status == "cancelled" else cast("Any", entry.payload)
    return answers
