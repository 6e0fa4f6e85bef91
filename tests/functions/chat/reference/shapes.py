"""What answers are made of: each key's path, and the kinds of value that stand there. No value is kept."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

Shape = dict[str, str]
"""Kinds by path, such as ``values.messages[].content: string``; several kinds are joined by a bar."""

_IDENT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")
_KINDS = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
    dict: "object",
    list: "list",
}


def shape_of_reply(response: httpx.Response) -> dict[str, Any]:
    """Give the status, the content type and the shape of a reply; of a stream, the shape of each kind of event."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    shown: dict[str, Any] = {"status": response.status_code, "type": kind}
    if kind == "text/event-stream":
        return {**shown, "events": _events(response.text)}
    if not kind.endswith("json"):
        return shown
    return {**shown, "body": {} if not response.content.strip() else shape_of([response.json()])}


def shape_of(values: Iterable[Any]) -> Shape:
    """Give the one shape of several values."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for value in values:
        for path, kind in _paths(value, ""):
            kinds[path].add(kind)
    return {path or ".": "|".join(sorted(each)) for path, each in sorted(kinds.items())}


def _paths(value: Any, at: str) -> Iterator[tuple[str, str]]:
    yield at, _KINDS[type(value)]
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key.endswith("_schema"):
                # What a JSON schema holds is the graph's.
                yield f"{at}.{key}", _KINDS[type(each)]
                continue
            named = "*" if _IDENT.search(key) else key
            yield from _paths(each, f"{at}.{named}" if at else named)
    elif isinstance(value, list):
        for each in value:
            yield from _paths(each, f"{at}[]")


def _events(text: str) -> dict[str, Shape]:
    """Give the shape of each kind of event, in the order in which they come first."""
    data: dict[str, list[Any]] = {}
    for block in re.split(r"\r?\n\r?\n", text):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "event" in fields:
            # The namespace of a subgraph has the id of a task in it.
            name = re.sub(r"\|.*", "|…", fields["event"])
            data.setdefault(name, []).append(json.loads(fields.get("data") or "null"))
    return {name: shape_of(each) for name, each in data.items()}


def differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """Say, step by step and key by key, what is other than the reference's."""
    return [f"{step} {each}" for step in theirs for each in _of_reply(theirs[step], ours[step])]


def _of_reply(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    for named in ("status", "type"):
        if theirs[named] != ours[named]:
            yield f"{named}: {theirs[named]} there, {ours[named]} here"
    if "events" in theirs and "events" in ours:
        for event in dict.fromkeys([*theirs["events"], *ours["events"]]):
            if event not in ours["events"] or event not in theirs["events"]:
                yield f"event {event}: only {'there' if event in theirs['events'] else 'here'}"
            else:
                yield from (
                    f"event {event} {each}" for each in _of_shape(theirs["events"][event], ours["events"][event])
                )
    elif theirs["status"] == ours["status"]:
        yield from _of_shape(theirs.get("body", {}), ours.get("body", {}))


def _of_shape(theirs: Shape, ours: Shape) -> Iterator[str]:
    for path in sorted({*theirs, *ours}):
        # What lies within something that one of them has not is said by that.
        inside = [path[:end] for end in range(len(path)) if path[end] in ".["]
        if any((outer in theirs) != (outer in ours) for outer in inside):
            continue
        if path not in ours or path not in theirs:
            yield f"{path}: only {'there' if path in theirs else 'here'}"
        elif theirs[path] != ours[path]:
            yield f"{path}: {theirs[path]} there, {ours[path]} here"
