"""Where an answer has other keys, other kinds of value or another status than that of LangGraph's own server.

The whole list: a test compares the answers to a script of requests, key by key, and nothing else may differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    """One that is meant.

    Parameters
    ----------
    where : str
        In which answers.
    what : str
        What is other there, and why.
    seen : str
        The comparison's lines about it: a regular expression.
    """

    where: str
    what: str
    seen: str


REFERENCE: Final = "langgraph-api 0.16.7"
"""What was asked, by `langgraph dev`."""

_THREADS: Final = r"(threads\.(create|get|update|search|copy)( \w+)?|\w+ thread|ask search) (\[\]\.)?"

DIFFERENCES: Final[Sequence[Difference]] = (
    Difference(
        "`GET /ok`, `GET /info`", "Nothing is told of LangGraph's platform.", r"(ok services|info .*): only there"
    ),
    Difference(
        "assistants",
        "No configuration is taken: its schema is null. A search for another graph finds none; there it is a 404.",
        r"assistants\.(schemas \.?config_schema: object there, null here|search none status: 404 there, 200 here)",
    ),
    Difference(
        "the graph's nodes",
        "Each has its own name under `data.id` too.",
        r"assistants\.graph.* nodes\[\]\.data\.id: only here",
    ),
    Difference(
        "threads",
        "A thread is of the agent graph from its beginning: the graph's names are in its metadata at once.",
        rf"{_THREADS}metadata\.(assistant|graph)_id: only here",
    ),
    Difference(
        "threads",
        "`interrupts` is always there, and filled where one thread is asked for; `config` is empty; an `error` is told "
        "by the run's events.",
        rf"{_THREADS}(interrupts: only here|(interrupts\.\*|config\.configurable|error): only there)",
    ),
    Difference(
        "threads",
        "`values` has the beginning of the first message, from its first moment on, and nothing else.",
        rf"{_THREADS}values(.messages\[\]\.\w+: only there|\.messages: only here|: (null there, object|only) here)",
    ),
    Difference(
        "metadata and configurations",
        "What the server notes there of itself, of the run, its thread and its user is left out; of a token's "
        "metadata, everything that no client reads.",
        r".*[. ](\*\.metadata|metadata|configurable|messages(\|…)? \[\])\."
        r"(langgraph_\w+|__\w+__|run_attempt|run_id|thread_id|checkpoint_ns|user_id|created_by|assistant_id|graph_id"
        r"|parents|topic|ls_\w+|lc_\w+): only there",
    ),
    Difference(
        "runs",
        "Without `kwargs`, which repeats the request, and LangSmith's session.",
        r".*runs\S* (\[\]\.)?(kwargs|langsmith_session_name): only there",
    ),
    Difference(
        "the state of a new thread",
        "Its `checkpoint` is a place without an id and its `metadata` is empty; there both are null.",
        r"state of a new thread (checkpoint|metadata)(: null there, object here|\.\w+: only here)",
    ),
    Difference(
        "states and history",
        "A turn is one checkpoint unless `durability` says otherwise, and the first one has a parent: the empty place "
        "before everything that was said, in events too. No earlier state has open steps.",
        r"stream (checkpoints|debug) event \S+ (payload\.)?parent_(checkpoint|config): null\|object there, object here"
        r"|(\w+|interrupt before) (state|history) (\[\]\.)?(parent_checkpoint|tasks\[\]\.result)\S*: .* there.*"
        r"|history \[\]\.(next|tasks)\[\]: only there|state at (next|tasks)\[\]: only there"
        r"|state at values\.messages\[\]: only here|parent_checkpoint: .*"
        r"|(\w+|interrupt before) (state|history) (\[\]\.)?parent_checkpoint\.\w+: only there",
    ),
    Difference(
        "places of checkpoints",
        "All three parts are named, null where there is none. Checkpoints in events have theirs as `checkpoint`, as "
        "states do, and as `config`.",
        r".*(checkpoint|configurable)\.(checkpoint_id|checkpoint_ns): only here"
        r"|stream (checkpoints|debug) event \S+ \S*(checkpoint|state|configurable): (only here|\w+ there, .* here)",
    ),
    Difference(
        "questions to the user",
        "An interrupt has no `response_schema` unless its node gave one.",
        r".*__interrupt__\[\]\.response_schema: only there",
    ),
    Difference("streams", "Each has an `end`, see below.", r".* event end: only here"),
    Difference(
        "streams",
        "The agent's words are streamed token by token, in parts, whether or not `stream_subgraphs` is given; there "
        "they come when it has ended. One who joins a run hears its beginning too.",
        r"stream messages event messages/(complete: only there|partial: only here)"
        r"|stream messages-tuple event messages \[\]\.(chunk_position|tool_call_chunks): only here"
        r"|(hold|join|join over) event (metadata|messages): only here",
    ),
    Difference("mode events", "Without inputs, see below.", r"stream events event events data\.input: only there"),
    Difference(
        "stopping a run", "The reply is an empty object; there it is empty.", r"cancel (type: .*|\.: only here)"
    ),
    Difference(
        "what is not there",
        "A 404 for a checkpoint and a run, too, and for the copy of a missing thread.",
        r"(state at missing|join missing) (status: 200 there, 404 here|type: .*)|threads\.copy missing status: 409 .*",
    ),
    Difference(
        "deleting a thread again", "Answered as the first time.", r"threads\.delete again (status: 404 .*|type: .*)"
    ),
    Difference(
        "history `before` a checkpoint",
        "Takes what a state calls its checkpoint; there it is a 500.",
        r"history before .*",
    ),
    Difference(
        "a change of the state as an unknown node",
        "A 422, as all that does not fit.",
        r"state update bad node status: .*",
    ),
)
