"""The page that says, route by route and option by option, what clients of the LangGraph Server API find here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from functions.chat.reference_differences import DIFFERENCES, REFERENCE
from shared.adapters.langgraph_api.bodies import RunCreate
from shared.adapters.langgraph_api.run_options import RULES, STATELESS_RULES, as_markdown
from shared.adapters.routes import TransferMode, routes_of

_BESIDE: Final[Mapping[str, str]] = {
    "POST /assistants/search": "One assistant: the agent graph. None can be made, changed or deleted.",
    "GET /assistants/{assistant_id}": "By id and by the graph's name.",
    "GET /assistants/{assistant_id}/schemas": "No configuration and no context is taken, so both schemas are null.",
    "POST /threads": """A `title` in the metadata names the thread; `history_policy` says how it is kept short. The id
        of a deleted thread is not given again: 409, which says so. `ttl` and `supersteps` are refused.""",
    "POST /threads/search": """`values` is the beginning of the first message and `interrupts` is empty: lists are read
        from rows, never from states. `values`, `ids` and `extract` are refused.""",
    "GET /threads/{thread_id}": "`values` as in lists; `interrupts` as they are. The state has everything.",
    "PATCH /threads/{thread_id}": "A `title` renames. `ttl` is refused.",
    "DELETE /threads/{thread_id}": "Gone at once; what it held is removed soon after.",
    "GET /threads/{thread_id}/state": """Of a thread that a run holds it may take a second longer, five when the run is
        being stopped: what was kept of it is then there.""",
    "POST /threads/{thread_id}/copy": """Without its runs, but with the question of one that goes on; what is known of
        earlier turns is summarised anew.""",
    "POST /threads/{thread_id}/state": """Under the thread's lease: 409 with `Retry-After` while a run holds it. Only
        `messages` can be changed; `{"type": "remove", "id": …}` removes one.""",
    "POST /threads/{thread_id}/state/checkpoint": """`checkpoint_ns` finds the state of an agent that waits.
        `checkpoint_map` is refused.""",
    "GET /threads/{thread_id}/history": """While a run goes on it may take as long as the state. `before` is the id of a
        checkpoint. The last state is the one before the first turn, empty and not stored: where to start to edit or
        regenerate the first message. A page also ends after 64 MB; what comes next is `before` its last state.""",
    "POST /threads/{thread_id}/history": """As with GET; `before` is a checkpoint, its id, or a config that has it.
        `checkpoint` may name the root namespace only.""",
    "GET /threads/{thread_id}/runs": """Runs are known for 30 days. None is ever `pending`: a run that waits for its
        thread has no row yet.""",
    "GET /threads/{thread_id}/runs/{run_id}": "As in the list. 404 for a run that was undone.",
    "POST /threads/{thread_id}/runs/stream": "See the options below.",
    "POST /threads/{thread_id}/runs/wait": """`stream_mode` has no effect. A run that fails is a 200 with `__error__`,
        as the reply has begun by then.""",
    "GET /threads/{thread_id}/runs/{run_id}/stream": """For an hour after the run, whatever `stream_resumable` said.
        Without `Last-Event-ID` everything is given, as with `-1`; the reference gives only what comes. All modes that
        are named count. A mode that the run was not asked for brings nothing.""",
    "POST /threads/{thread_id}/runs/{run_id}/cancel": """202 with and without `wait`; a wait ends after 20 seconds. 404
        for a run that is over.""",
    "POST /runs/stream": "Options that need a thread are refused, see below.",
    "POST /runs/wait": "As `POST /runs/stream`, and as the wait in a thread.",
    "POST /agui": "Not of the LangGraph Server API: the AG-UI protocol.",
}
"""What is particular here, or otherwise than on LangGraph's own server."""

_EVENTS: Final[Mapping[str, str]] = {
    "metadata": "First. `run_id`, `attempt` 1.",
    "values": "The whole state after each step; `__interrupt__` in it when a person is asked.",
    "updates": "What each node gave, by its name; `__interrupt__` when a person is asked.",
    "messages": """Mode messages-tuple: a message or a part of one, and of its metadata node, namespace and tags. The
        reference sends 0.8 KB of metadata with every few letters. What an answer cites comes as its last part, without
        text, in `additional_kwargs.citations`.""",
    "messages/metadata, messages/partial, messages/complete": "Mode messages: the answer so far, each time.",
    "custom": "What tools and nodes say themselves.",
    "tasks": "The beginning and the end of each step. Errors have no text.",
    "checkpoints": "Each checkpoint; of the run's configuration its place only.",
    "debug": "Checkpoints and tasks, with step and time.",
    "events": "LangChain's events but those of models that do not speak to the user; without inputs.",
    "error": "`error`, a code to switch on, and `message`. The last event of a run that failed.",
    "end": "`run_id` and `status`. The last event of every other run; the reference sends nothing in it.",
}

_MESSAGES: Final = (
    ("A message whose id the thread has, with the same words", """The thread keeps its own. If it is the last one of the
        input and has its answer, that answer is given without a call of the model; words count, not whether they come
        as a text or as parts; images and files count where they come along."""),
    ("The same with other words, images or files", """422. A message is edited by a run that starts at the checkpoint
        before it. Only a question that has no reply yet is put in place of the old."""),
    ("Two messages of one request with one id, or a human message with the id of an answer", "422."),
    ("Images", """PNG, JPEG, GIF and WebP in the message itself, each up to 3.75 MB and 8,000 pixels a side, 20 in a
        message, in the shapes of LangChain, LangChain.js and OpenAI; the data must be what it says it is. Else
        422."""),
    ("Tool calls in AI messages", """Kept as they come; two calls of one message with one id are a 422. The model gets
        ids and names that Bedrock takes, a call without a result gets one that says so, and a result without a call is
        left out. A last message that is the result of no call is a 422."""),
    ("Tool calls of the model that JSON readers or the database cannot hold", """Not carried out, and the model is told:
        whole numbers of more than 64 bits, NaN, halves of surrogate pairs, more than 64 levels, broken JSON. The
        message has `faulty_calls` in its `response_metadata`."""),
    ("A message that the model refuses", """`MODEL_REFUSED`; the message stays in the thread. Later turns do not send
        images of messages that were never answered, and if the model refuses all the same, it is asked once
        more with what was said in answered turns only."""),
)  # fmt: skip
_PARTS: Final = (
    (
        "text",
        """As it is. A mention, `:kb-document[label]{documentId=…}` or `:kb-folder[label]{folderId=…}`, narrows the
        turn's searches.""",
    ),
    ("image, image_url", "In the message itself: base64, or an address `data:`. Goes to the model."),
    (
        "file",
        """In the message itself, in the shapes of LangChain, LangChain.js and OpenAI; or `file_id`, a document of the
        user's. Stored as a document and read in the same turn; the thread keeps `filename` with `[kb:…]` before it and
        a `kb_ref`, never the bytes.""",
    ),
    ("kb_ref", "Beside a file that was sent before. Of documents that are not the user's it means nothing."),
)

_NOT_OFFERED: Final[Mapping[str, str]] = {
    "`POST /threads/{thread_id}/runs`, `/runs`, `/runs/batch`, `GET …/join`": """Runs in the background: a run is
        streamed or waited for, and goes on when its client leaves.""",
    "`DELETE /threads/{thread_id}/runs/{run_id}`, `POST /runs/cancel`": """One run is stopped by its id, and undone by
        `action=rollback`.""",
    "`POST /assistants`, `PATCH`, `DELETE`, `…/versions`, `…/latest`, `…/subgraphs`, `/assistants/count`": """Assistants
        are part of what is deployed.""",
    "`/threads/prune`, `GET /threads/{thread_id}/stream`, `…/commands`, `…/events`": """Threads are deleted, and
        streamed run by run.""",
    "`/store/…`": "What is remembered of a user is at `/api/memory/…`.",
    "`/crons`, `/runs/crons`, `/mcp`, `/a2a`, webhooks": "Nothing here runs by itself or calls others.",
}

_PREFACE: Final = """# What clients of the LangGraph Server API find here

The reference is LangGraph's own server. What is not in these tables is refused: a path with 404, a field of a body or
a value with a 422 that names it. This page is made of the tables that the API itself reads (`make openapi`).

Every route but `/ok` and `/info` needs an ID token of the user pool (`Authorization: Bearer …`); a thread of another
user is a 404 as a missing one is. Errors are `{"detail": "…"}`. Events have ids that count up by one within a run, and
no two share one. A stream sends a comment every few seconds, and a wait a line end, from its first second on. A run
that is to wait for a busy thread waits before its reply begins, so that a 409 is still possible: nothing is sent until
then, for up to `ENQUEUE_SECONDS` (35). Replies that are streamed may be of any size; others, and every request, end at
6 MB.
"""


def page(document: Mapping[str, Any]) -> str:
    """Give the page as it is committed.

    Parameters
    ----------
    document : mapping
        The API's OpenAPI document.
    """
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    described = {
        f"{route.method} {route.path}": document["paths"][route.path][route.method.lower()]
        for route in routes_of("chat")
    }
    streaming = {f"{route.method} {route.path}" for route in routes_of("chat") if route.mode is TransferMode.STREAM}
    yield _PREFACE
    yield from _table(
        "## Routes",
        ("route", "reply", "what it does", "beside the reference"),
        [
            (f"`{name}`", "stream" if name in streaming else "whole", _first_line(method), _BESIDE.get(name, ""))
            for name, method in described.items()
        ],
    )
    yield from _table(
        "## Answers, key by key",
        ("answer", "what is otherwise than the reference's"),
        [(each.where, each.what) for each in DIFFERENCES],
    )
    yield f"Found by a comparison with {REFERENCE}, which finds nothing else: statuses, keys and kinds of value.\n"
    yield from _table("## Query parameters", ("route", "parameter", "values"), _parameters(described))
    yield from _table(
        "## Fields of bodies, but those of runs", ("route", "field", "values"), _fields(described, document)
    )
    yield "## Options of a run in a thread\n"
    yield "*Honoured* does what the reference does; *accepted* means what is said here and nothing else; *refused* is a"
    yield "422 that names the option. Null is the same as not given.\n"
    yield as_markdown(RULES)
    yield "## Options of a run without a thread, where they differ\n"
    yield as_markdown(STATELESS_RULES)
    yield from _table("## Messages", ("what comes in", "what becomes of it"), _MESSAGES)
    yield from _table("## Events", ("event", "what it holds"), [(f"`{name}`", what) for name, what in _EVENTS.items()])
    yield "With `stream_subgraphs` the namespace of an agent follows the name: `updates|chat_agent:…`.\n"
    yield from _table(
        "## Parts of what a user says", ("part", "what it means here"), [(f"`{name}`", what) for name, what in _PARTS]
    )
    yield from _table("## Not offered", ("route", "why"), list(_NOT_OFFERED.items()))


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"{title}\n"
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(' '.join(cell.split()) for cell in row)} |"
    yield ""


def _first_line(method: Mapping[str, Any]) -> str:
    return method["description"].partition("\n")[0]


def _parameters(described: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for route, method in described.items():
        for parameter in method.get("parameters", ()):
            if parameter["in"] != "path":
                said = parameter.get("description", "")
                yield f"`{route}`", f"`{parameter['name']}`", f"{_values(parameter['schema'])} {said}"


def _fields(described: Mapping[str, Mapping[str, Any]], document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for route, method in described.items():
        schema = method.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        name = _name(schema)
        if name in ("", RunCreate.__name__):
            continue
        for field, of_field in document["components"]["schemas"][name]["properties"].items():
            yield f"`{route}`", f"`{field}`", f"{_values(of_field)} {of_field.get('description', '')}"


def _name(schema: Mapping[str, Any]) -> str:
    return schema.get("$ref", "").rpartition("/")[2]


def _values(schema: Mapping[str, Any]) -> str:
    """Say in a few words what may be given."""
    if "anyOf" in schema:
        kinds = [_values(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return " Or: ".join(dict.fromkeys(kinds))
    if "$ref" in schema:
        return f"{_name(schema)}."
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"])) + "."
    if schema.get("type") == "array":
        return f"Several of: {_values(schema['items'])}"
    span = f" from {schema['minimum']:g}" if "minimum" in schema else ""
    span += f" to {schema['maximum']:g}" if "maximum" in schema else ""
    default = f", {schema['default']} by default" if schema.get("default") is not None else ""
    return f"{schema.get('type', 'any JSON')}{span}{default}."
