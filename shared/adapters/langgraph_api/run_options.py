"""Every option of a run, and what each value means here: honoured, accepted with a meaning, or refused by name."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from shared.adapters.langgraph_api.bodies import Body, RunCreate
from shared.domain.errors import InvalidInputError


class Treatment(StrEnum):
    """What is done with an option's value."""

    HONOURED = "honoured"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Rule:
    """What some values of an option mean.

    Parameters
    ----------
    option : str
        The option, as it stands in the body; ``a.b`` for a part of one.
    values : str
        The values, for people.
    treatment : Treatment
        What is done.
    meaning : str
        What that amounts to; of a refused value, why.
    applies : callable
        Says of a value whether the rule is about it.
    """

    option: str
    values: str
    treatment: Treatment
    meaning: str
    applies: Callable[[Any], bool]


def _honoured(option: str, meaning: str, *values: Any) -> Rule:  # noqa: ANN401 - JSON
    return _rule(option, Treatment.HONOURED, meaning, values)


def _accepted(option: str, meaning: str, *values: Any) -> Rule:  # noqa: ANN401 - JSON
    return _rule(option, Treatment.ACCEPTED, meaning, values)


def _refused(option: str, meaning: str, *values: Any) -> Rule:  # noqa: ANN401 - JSON
    return _rule(option, Treatment.REFUSED, meaning, values)


def _rule(option: str, treatment: Treatment, meaning: str, values: Sequence[Any]) -> Rule:
    if not values:
        return Rule(option, "any", treatment, meaning, lambda _value: True)
    shown = ", ".join(json.dumps(value) if value in (True, False, "") else str(value) for value in values)
    return Rule(option, shown, treatment, meaning, lambda value: value in values)


RULES: Final = (
    _honoured("assistant_id", "The graph's name or its assistant's id."),
    _honoured("input", "New messages; null goes on at an open step, or answers again after the checkpoint."),
    _honoured("command.resume", "Answers an interrupt; by interrupt id when several are open. No files in it."),
    _honoured("command.update", "Changes the state first."),
    _honoured("command.goto", "Goes on at these nodes. No files in their input but by `file_id`."),
    _honoured("checkpoint.checkpoint_id", "Starts there, on a branch; at the first one's parent, from nothing."),
    _honoured("checkpoint_id", "The same."),
    _accepted("checkpoint.thread_id", "Must be the thread of the path."),
    _honoured("checkpoint.checkpoint_ns", "The thread itself.", ""),
    _refused("checkpoint.checkpoint_ns", "A run starts in the thread itself, not in a subgraph."),
    _refused("checkpoint.checkpoint_map", "A run starts in the thread itself, not in a subgraph."),
    _honoured("config.tags", "On every step of the run; 100 at most, of 256 characters each."),
    _honoured("config.recursion_limit", "1 to 100 steps; 25 by default."),
    _accepted("config.configurable", "Left out: who asks, and where, is from the token and the path only."),
    _honoured("config.metadata", "Kept with the state the run leaves, as metadata is; 16 KB with it."),
    Rule("context", "{}", Treatment.ACCEPTED, "The same as none.", lambda value: not value),
    _refused("context", "The graph takes no context."),
    _honoured("metadata", "Kept with the state the run leaves; 16 KB at most."),
    _honoured("stream_mode", "The state after each step. The default.", "values"),
    _honoured("stream_mode", "As LangGraph's.", "updates", "messages-tuple", "custom", "tasks"),
    _honoured("stream_mode", "messages/metadata, messages/partial, messages/complete: answers so far.", "messages"),
    _honoured("stream_mode", "As LangGraph's; the run stores a checkpoint a step.", "checkpoints", "debug"),
    _honoured("stream_mode", "LangChain's events, without inputs: a model's input is its prompt.", "events"),
    _refused("stream_mode", "Not offered: of the protocol that threads are streamed by.", "tools", "lifecycle"),
    _honoured("stream_subgraphs", "true: what agents do inside comes out under their namespaces.", True, False),
    _honoured("stream_resumable", "The stream can be joined and resumed for an hour.", True),
    _accepted("stream_resumable", "The stream can be resumed all the same.", False),
    _accepted("on_disconnect", "The run goes on: nobody is told of a lost connection. Cancel stops a run.", "cancel"),
    _honoured("on_disconnect", "The run goes on.", "continue"),
    _accepted("on_completion", "A thread is always kept.", "keep"),
    _refused("on_completion", "A run in a thread does not delete it.", "delete"),
    _honoured("multitask_strategy", "409 while another run holds the thread, with Retry-After.", "reject"),
    _honoured("multitask_strategy", "Waits, longer than a dead run holds a thread, then 409. Default.", "enqueue"),
    _honoured("multitask_strategy", "Stops the other run, keeping its part of an answer, and waits.", "interrupt"),
    _honoured("multitask_strategy", "Stops the other run, removes what it stored, and waits.", "rollback"),
    _honoured("if_not_exists", "Makes a missing thread.", "create"),
    _honoured("if_not_exists", "404 for a missing thread. The default.", "reject"),
    _honoured("durability", "A checkpoint a turn; the thread's row keeps the question until then. Default.", "exit"),
    _honoured("durability", "A checkpoint a step.", "async", "sync"),
    _honoured("checkpoint_during", "true is durability async, false is exit.", True, False),
    _honoured("interrupt_before", "Names of nodes, or *."),
    _honoured("interrupt_after", "Names of nodes, or *."),
    Rule("after_seconds", "0", Treatment.ACCEPTED, "At once.", lambda value: value == 0),
    _refused("after_seconds", "Runs begin at once."),
    _refused("webhook", "No calls are made; the event bus has the turn's end."),
    Rule("feedback_keys", "[]", Treatment.ACCEPTED, "The same as none.", lambda value: not value),
    _refused("feedback_keys", "No feedback links are made."),
    _honoured("strict_resume", "true: an answer to an interrupt that is not open is an error.", True),
    _honoured("strict_resume", "It changes nothing. The default.", False),
    Rule("langsmith_tracer", "{}", Treatment.ACCEPTED, "The same as none.", lambda value: not value),
    _refused("langsmith_tracer", "Nothing is sent to LangSmith."),
)  # fmt: skip
"""In the order in which they are looked at; the first that applies to a value decides."""

_NO_START: Final = "Nothing is kept that a run could start from."
_NO_THREAD: Final = "There is no thread."

STATELESS_RULES: Final = (
    _honoured("input", "The whole conversation, the new message last."),
    _refused("command.resume", _NO_START),
    _refused("command.update", _NO_START),
    _refused("command.goto", _NO_START),
    _refused("checkpoint.checkpoint_id", _NO_START),
    _refused("checkpoint_id", _NO_START),
    _accepted("metadata", "Nothing is kept."),
    _accepted("config.metadata", "Nothing is kept."),
    _honoured("stream_mode", "As LangGraph's. Of no checkpoint can be read afterwards.", "checkpoints", "debug"),
    _refused("stream_resumable", "The events of a run without a thread are not kept.", True),
    _honoured("stream_resumable", "The stream cannot be resumed.", False),
    _honoured("on_completion", "Nothing is kept.", "delete"),
    _refused("on_completion", "Nothing is kept of a run without a thread.", "keep"),
    _accepted("multitask_strategy", _NO_THREAD),
    _accepted("if_not_exists", _NO_THREAD),
    _accepted("durability", "Nothing is kept."),
    _accepted("checkpoint_during", "Nothing is kept."),
    _accepted("strict_resume", _NO_START),
)
"""What is otherwise for a run without a thread; looked at first."""


def check_options(run: RunCreate, *, stateless: bool = False) -> None:
    """Check every option that a run was asked for with.

    Parameters
    ----------
    run : RunCreate
        The request's body.
    stateless : bool
        Whether the run has no thread.

    Raises
    ------
    InvalidInputError
        Naming the first option whose value is refused, and why.
    """
    rules = (*STATELESS_RULES, *RULES) if stateless else RULES
    for option, value in _given(run):
        for one in value if option == "stream_mode" else [value]:
            rule = next((rule for rule in rules if rule.option == option and rule.applies(one)), None)
            if rule is None or rule.treatment is Treatment.REFUSED:
                why = "This value has no meaning here." if rule is None else rule.meaning
                shown = f" '{one}'" if isinstance(one, str) else ""
                raise InvalidInputError(f"{option}{shown}: {why}")


def check_stream_modes(modes: Sequence[str]) -> None:
    """Check the stream modes that a client joins a run with.

    Raises
    ------
    InvalidInputError
        Naming the first that is not offered.
    """
    for mode in modes:
        rule = next((rule for rule in RULES if rule.option == "stream_mode" and rule.applies(mode)), None)
        if rule is None or rule.treatment is Treatment.REFUSED:
            raise InvalidInputError(f"stream_mode '{mode[:100]}': There is no such mode.")


def _given(run: RunCreate) -> list[tuple[str, Any]]:
    """Give each option that is not null, parts of options by their own names."""
    given: list[tuple[str, Any]] = []
    parted = {rule.option.partition(".")[0] for rule in RULES if "." in rule.option}
    for name in RunCreate.model_fields:
        value = getattr(run, name)
        if name in parted and value is not None:
            parts = cast("Body", value)
            given += [(f"{name}.{part}", each) for part, each in parts if each is not None]
        elif value is not None:
            given.append((name, value))
    return given


def as_markdown(rules: Sequence[Rule] = RULES) -> str:
    """Give a table of rules for people."""
    lines = ["| option | value | | what it means here |", "| --- | --- | --- | --- |"]
    lines += [f"| `{rule.option}` | {rule.values} | {rule.treatment} | {rule.meaning} |" for rule in rules]
    return "\n".join(lines) + "\n"
