"""Counts what is asked of AWS: requests, when they ran, and capacity by DynamoDB's published rules.

Sizes are counted from the wire, because moto's own count of binary values is wrong. Scripts that start with an
underscore are no benches.
"""

import base64
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

WRITE_UNIT = 1024
READ_UNIT = 4096


@dataclass
class Call:
    """One request."""

    service: str
    operation: str
    start: float
    end: float = 0.0
    wcu: float = 0.0
    rcu: float = 0.0
    written: int = 0
    """Bytes of the items it wrote."""
    consistent: bool = False
    """Whether what it read was the newest there was."""


@dataclass
class Meter:
    """What was asked.

    ``latency`` is added to each request, so that one after another can be told from side by side. ``sizes`` reads
    items past the meter, for writes whose request does not hold the whole item.
    """

    sizes: Any
    indexed: Mapping[str, Mapping[str, Sequence[str]]]
    """Attributes that stand in a local index, by table and index; the first is the index's key."""
    latency: float = 0.0
    calls: list[Call] = field(default_factory=list)
    _mock: Any = field(default_factory=threading.Lock)
    _open: dict[int, tuple[Call, dict[str, Any], list[Any]]] = field(default_factory=dict)

    def reset(self) -> None:
        self.calls.clear()

    def serialize(self, *clients: Any) -> None:
        """Let one request at a time into the mock, whose tables are not made for several; waiting goes on beside."""
        for client in clients:
            client._make_request = self._alone(client._make_request)  # noqa: SLF001 - below the hooks, above the mock

    def _alone(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def alone(*args: Any, **kwargs: Any) -> Any:
            with self._mock:
                return call(*args, **kwargs)

        return alone

    @contextmanager
    def on(self, *clients: Any) -> Iterator["Meter"]:
        for client in clients:
            client.meta.events.register("before-call.*.*", self._before)
            client.meta.events.register("after-call.*.*", self._after)
        try:
            yield self
        finally:
            for client in clients:
                client.meta.events.unregister("before-call.*.*", self._before)
                client.meta.events.unregister("after-call.*.*", self._after)

    def _before(self, model: Any, params: dict[str, Any], **_: Any) -> None:
        service = model.service_model.service_name
        call = Call(service, model.name, time.perf_counter())
        body = json.loads(params["body"]) if service == "dynamodb" else {}
        self._open[threading.get_ident()] = (call, body, self._images(model.name, body))
        self.calls.append(call)
        time.sleep(self.latency)

    def _after(self, model: Any, parsed: dict[str, Any], **_: Any) -> None:
        call, body, before = self._open.pop(threading.get_ident())
        if call.service == "dynamodb" and "Error" not in parsed:
            self._charge(call, body, parsed, before)
        call.end = time.perf_counter()

    def _images(self, operation: str, body: dict[str, Any]) -> list[Any]:
        return [self._image(table, key) for table, key, _ in _writes(operation, body)]

    def _image(self, table: str, key: dict[str, Any]) -> dict[str, Any] | None:
        return self.sizes.get_item(TableName=table, Key=_from_wire(key), ConsistentRead=True).get("Item")

    def _charge(self, call: Call, body: dict[str, Any], parsed: dict[str, Any], before: list[Any]) -> None:
        doubled = 2 if call.operation == "TransactWriteItems" else 1
        for (table, key, _), old in zip(_writes(call.operation, body), before, strict=True):
            new = self._image(table, key)
            size = max(_size(new), _size(old))
            call.wcu += doubled * max(1, math.ceil(size / WRITE_UNIT))
            call.written += _size(new)
            for attributes in self.indexed.get(table, {}).values():
                call.wcu += doubled * _index_units(attributes, old, new)
        if call.operation in ("GetItem", "Query", "Scan", "BatchGetItem"):
            tables = list(body["RequestItems"].values()) if "RequestItems" in body else [body]
            call.consistent = all(asked.get("ConsistentRead", False) for asked in tables)
        if call.operation == "GetItem":
            call.rcu += self._read_units([body["Key"]], body)
        elif call.operation in ("Query", "Scan"):
            total = sum(_size(item) for item in self._looked_at(call.operation, body, parsed))
            call.rcu += max(1, math.ceil(total / READ_UNIT)) * (1 if body.get("ConsistentRead") else 0.5)
        elif call.operation == "BatchGetItem":
            for table, asked in body["RequestItems"].items():
                call.rcu += self._read_units(asked["Keys"], {"TableName": table, **asked})

    def _read_units(self, keys: Sequence[dict[str, Any]], body: dict[str, Any]) -> float:
        """Charge for whole items, each by itself, whatever of them was asked for; what is not there costs one."""
        units = sum(max(1, math.ceil(_size(self._image(body["TableName"], key)) / READ_UNIT)) for key in keys)
        return units * (1 if body.get("ConsistentRead") else 0.5)

    def _looked_at(self, operation: str, body: dict[str, Any], parsed: dict[str, Any]) -> Sequence[Any]:
        """Give what was read, whole: neither a projection nor a filter makes a request cheaper."""
        if operation == "Scan":
            where = {"ExclusiveStartKey": _from_wire(body["ExclusiveStartKey"])} if "ExclusiveStartKey" in body else {}
            limit = {"Limit": parsed["ScannedCount"]} if parsed["ScannedCount"] else {}
            return self.sizes.scan(TableName=body["TableName"], **where, **limit)["Items"]
        if "IndexName" in body or "ProjectionExpression" not in body:
            return parsed["Items"]
        if not parsed["ScannedCount"]:
            return []
        where = {"ExclusiveStartKey": _from_wire(body["ExclusiveStartKey"])} if "ExclusiveStartKey" in body else {}
        condition = body["KeyConditionExpression"]
        stand_ins = {
            kind: {name: value for name, value in body.get(kind, {}).items() if name in condition}
            for kind in ("ExpressionAttributeNames", "ExpressionAttributeValues")
        }
        return self.sizes.query(
            TableName=body["TableName"],
            KeyConditionExpression=condition,
            ScanIndexForward=body.get("ScanIndexForward", True),
            Limit=parsed["ScannedCount"],
            **where,
            **{kind: names for kind, names in stand_ins.items() if names},
        )["Items"]

    def rounds(self, until: float = math.inf) -> int:
        """Count requests that had to wait for one another: the longest chain of them that do not overlap."""
        count, free_at = 0, -math.inf
        for call in sorted((call for call in self.calls if call.end <= until), key=lambda call: call.end):
            if call.start >= free_at:
                count, free_at = count + 1, call.end
        return count


def _writes(operation: str, body: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """Give table, key and kind of each write in a request."""
    if operation == "DeleteItem":
        return [(body["TableName"], body["Key"], "Delete")]
    if "TransactItems" in body:
        found = [next(iter(each.items())) for each in body["TransactItems"]]
        return [
            (write["TableName"], _key_of(write), kind) for kind, write in found if kind in ("Put", "Update", "Delete")
        ]
    if "RequestItems" in body and isinstance(next(iter(body["RequestItems"].values())), list):
        return [
            (table, _key_of(next(iter(each.values()))), next(iter(each)))
            for table, requests in body["RequestItems"].items()
            for each in requests
        ]
    if "Item" in body or "UpdateExpression" in body:
        return [(body["TableName"], _key_of(body), "Put")]
    return []


def _key_of(write: dict[str, Any]) -> dict[str, Any]:
    if "Key" in write:
        return write["Key"]
    item = write["Item"]
    return {name: item[name] for name in ("pk", "sk") if name in item} or {name: item[name] for name in ("PK", "SK")}


def _from_wire(key: dict[str, Any]) -> dict[str, Any]:
    return {name: {"B": base64.b64decode(value["B"])} if "B" in value else value for name, value in key.items()}


def _index_units(attributes: Sequence[str], old: Any, new: Any) -> int:
    def entry(item: Any) -> dict[str, Any] | None:
        if item is None or attributes[0] not in item:
            return None
        return {name: item[name] for name in ("pk", "sk", *attributes) if name in item}

    before, after = entry(old), entry(new)
    if before == after:
        return 0
    units = max(1, math.ceil(max(_size(before), _size(after)) / WRITE_UNIT))
    moved = before is not None and after is not None and before[attributes[0]] != after[attributes[0]]
    return units * (2 if moved else 1)


def _size(item: Any) -> int:
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items()) if item else 0


def _value_size(value: dict[str, Any]) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return math.ceil(len(held.strip("-0.")) / 2) + 1
        case "B":
            return len(held)
        case "M":
            return 3 + sum(len(name.encode()) + 1 + _value_size(each) for name, each in held.items())
        case "L":
            return 3 + sum(1 + _value_size(each) for each in held)
        case "SS":
            return sum(len(each.encode()) for each in held)
        case _:
            return 1
