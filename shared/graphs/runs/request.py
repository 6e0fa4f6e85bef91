"""What a run is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal

from langchain_core.messages import AnyMessage

from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.profile import AccountOverlay
from shared.domain.runs import MultitaskStrategy

DEFAULT_STEPS: Final = 25
"""How many steps a run may take that says nothing about it."""

Durability = Literal["sync", "async", "exit"]


@dataclass(frozen=True, slots=True)
class Goto:
    """A node to go on at, with an input of its own if it is given one.

    Parameters
    ----------
    node : str
        The node's name.
    input : object, optional
        What the node gets instead of the thread's state.
    """

    node: str
    input: Any = None
    has_input: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCommand:
    """What a run goes on with instead of new messages.

    Parameters
    ----------
    resume : object
        The answer to an interrupt, or answers by interrupt id; ``has_resume`` says whether there is one.
    update : mapping or None
        A change of the state to make first.
    goto : sequence of Goto
        Where to go on.
    """

    resume: Any = None
    has_resume: bool = False
    update: Mapping[str, Any] | None = None
    goto: Sequence[Goto] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRequest:
    """What every run is asked for, as the API layer understood it. Who asks is from the verified token.

    Parameters
    ----------
    user, run : str
        Whose run, and its id.
    account : AccountOverlay
        What the token says of the user.
    messages : sequence of message
        New messages, each human one with an id.
    modes : frozenset of str
        Which of LangGraph's stream modes to give out; ``events`` are LangChain's events.
    subgraphs : bool
        Whether to give out what subgraphs do under their own names.
    metadata, tags, recursion_limit
        As LangGraph takes them.
    interrupt_before, interrupt_after : sequence of str or '*'
        Nodes to stop at.
    time_limit : timedelta or None
        How long the run may take, so that there is time left to store it; no limit without one.
    """

    user: UserId
    run: RunId
    account: AccountOverlay = field(default_factory=AccountOverlay)
    messages: Sequence[AnyMessage] = ()
    modes: frozenset[str] = frozenset({"values"})
    subgraphs: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Sequence[str] = ()
    recursion_limit: int = DEFAULT_STEPS
    interrupt_before: Sequence[str] | Literal["*"] = ()
    interrupt_after: Sequence[str] | Literal["*"] = ()
    time_limit: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest(GraphRequest):
    """A run in a thread. Without ``messages`` it goes on or answers again.

    Parameters
    ----------
    thread : str
        Where.
    command : ResumeCommand or None
        Instead of messages.
    checkpoint_id : str or None
        Where to start; the thread's head when there is none.
    create : bool
        Whether a missing thread is made.
    strategy : {'reject', 'enqueue', 'interrupt', 'rollback'}
        What to do while the thread is busy.
    durability : {'sync', 'async', 'exit'}
        As LangGraph takes it.
    strict_resume : bool
        Whether an answer to an interrupt that is not open is an error; otherwise it changes nothing.
    """

    thread: ThreadId
    command: ResumeCommand | None = None
    checkpoint_id: str | None = None
    create: bool = False
    strategy: MultitaskStrategy = "enqueue"
    durability: Durability = "exit"
    strict_resume: bool = False
