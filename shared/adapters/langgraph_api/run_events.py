"""What a run does, as the events that clients of the LangGraph Server API read."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message

from shared.adapters.langgraph_api.objects import INNER_METADATA, STEP_FAILED, checkpoint_object, parent_object
from shared.domain.ids import ThreadId

NamedData = tuple[str, object]
"""An event's name and its data."""

GRAPH_MODES: Final[Mapping[str, str]] = {"messages-tuple": "messages"}
"""LangGraph calls its stream of tokens ``messages``, its server ``messages-tuple``; other modes have one name."""

# What clients read of a token's metadata; LangGraph's own is 0.8 KB, which every few letters would carry.
_READ_METADATA: Final = ("langgraph_node", "langgraph_checkpoint_ns", "tags")

_SILENT_TAGS: Final = frozenset({"nostream", "langsmith:nostream", "langsmith:hidden"})


class RunEvents:
    """Names the events of one run.

    Parameters
    ----------
    modes : collection of str
        The stream modes that were asked for, by the API's names.
    thread : str or None
        The thread, as clients know it.
    """

    def __init__(self, modes: Collection[str], thread: ThreadId | None) -> None:
        self._modes = frozenset(modes)
        self._thread = thread
        self._so_far: dict[str, BaseMessage] = {}

    def of(self, mode: str, data: Any, namespace: Sequence[str]) -> list[NamedData]:  # noqa: ANN401 - LangGraph's own
        """Give the events for something that the graph streamed.

        Parameters
        ----------
        mode : str
            LangGraph's stream mode, or ``events``.
        data : object
            As LangGraph gives it.
        namespace : sequence of str
            The subgraph it is from; it is named after the event's name.
        """
        match mode:
            case "messages":
                message, metadata = data
                return self._message(message, metadata, namespace)
            case "checkpoints":
                return [(_named(mode, namespace), self._checkpoint(data))]
            case "tasks":
                return [(_named(mode, namespace), _task(data))]
            case "debug":
                payload = self._checkpoint(data["payload"]) if data["type"] == "checkpoint" else _task(data["payload"])
                return [(_named(mode, namespace), {**data, "payload": payload})]
            case "events":
                return [] if _SILENT_TAGS.intersection(data.get("tags") or ()) else [(mode, _event(data))]
            case _:
                return [(_named(mode, namespace), data)]

    def _message(self, message: BaseMessage, metadata: Mapping[str, Any], namespace: Sequence[str]) -> list[NamedData]:
        read = {key: metadata[key] for key in _READ_METADATA if key in metadata}
        events: list[NamedData] = []
        if "messages-tuple" in self._modes:
            events.append((_named("messages", namespace), [message, read]))
        if "messages" in self._modes and message.id is not None:
            so_far = self._so_far.get(message.id)
            if so_far is None:
                events.append(("messages/metadata", {message.id: {"metadata": read}}))
            is_part = isinstance(message, BaseMessageChunk)
            whole = so_far + message if is_part and isinstance(so_far, BaseMessageChunk) else message
            self._so_far[message.id] = cast("BaseMessage", whole)
            shown = message_chunk_to_message(whole) if isinstance(whole, BaseMessageChunk) else whole
            events.append(("messages/partial" if is_part else "messages/complete", [shown.model_dump()]))
        return events

    def _checkpoint(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Give a checkpoint without what the configuration holds for the product's own use.

        Its place stands there in both ways in which clients look for it.
        """
        config = cast("Mapping[str, Any]", payload["config"])
        is_own = not config.get("configurable", {}).get("checkpoint_ns")
        place = checkpoint_object(config, self._thread)
        parent = parent_object(payload.get("parent_config"), self._thread, root_of=self._thread if is_own else None)
        return {
            "config": {"configurable": place},
            "parent_config": parent and {"configurable": parent},
            "checkpoint": place,
            "parent_checkpoint": parent,
            "values": payload["values"],
            "metadata": _own_metadata(payload.get("metadata")),
            "next": payload["next"],
            "tasks": [self._open_task(task) for task in payload["tasks"]],
        }

    def _open_task(self, task: Mapping[str, Any]) -> dict[str, Any]:
        state = task.get("state")
        place = checkpoint_object(cast("Mapping[str, Any]", state), self._thread) if isinstance(state, dict) else None
        return {**_task(task), "checkpoint": place, "state": place and {"configurable": place}}


def _named(name: str, namespace: Sequence[str]) -> str:
    return "|".join([name, *namespace])


def _own_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (metadata or {}).items() if key not in INNER_METADATA}


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(task)
    if shown.get("error") is not None:
        shown["error"] = STEP_FAILED
    if "metadata" in shown:
        shown["metadata"] = _own_metadata(shown["metadata"])
    return shown


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Give one of LangChain's events without its input: a model's is the prompt, and everybody else's the state."""
    data = {key: value for key, value in cast("Mapping[str, Any]", event["data"]).items() if key != "input"}
    if "error" in data:
        data["error"] = STEP_FAILED
    return {**event, "data": data, "metadata": _own_metadata(event.get("metadata"))}
