"""What comes out of a run, in order. The API layer writes it as server-sent events."""

from dataclasses import dataclass
from typing import Any

from shared.domain.runs import RunStatus


@dataclass(frozen=True, slots=True)
class Streamed:
    """Something the graph did.

    Parameters
    ----------
    mode : str
        LangGraph's stream mode, for example ``values``, or ``events``.
    data : object
        As LangGraph gives it.
    namespace : tuple of str
        The subgraph it happened in; empty for the graph itself, or when subgraphs were not asked for.
    """

    mode: str
    data: Any
    namespace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The run failed.

    Parameters
    ----------
    code : str
        A code of ``shared.domain.errors``, or one of this package. Nothing else of the error leaves the process.
    """

    code: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The last thing that comes out of every run.

    Parameters
    ----------
    status : str
        How it ended; never ``running``.
    """

    status: RunStatus


RunOutput = Streamed | Failed | Ended
