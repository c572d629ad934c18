"""What the calls of boto3's clients cost at AWS: requests and capacity units, by what they were made for.

Written units are the emulator's, which counts them right, but for two: of a write whose condition failed, one; and of
statements of PartiQL, which it counts without their indexes, one for each. Read units are
counted here, from the size of what was read, for the emulator's are wrong.
"""

from __future__ import annotations

import base64
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

READ_UNIT_BYTES = 4_096
_READS = {"GetItem", "Query", "BatchGetItem"}
_REFUSED = {"ConditionalCheckFailedException"}


@dataclass
class Cost:
    writes: float = 0.0
    reads: float = 0.0
    #: By operation, such as `sqs.ReceiveMessage`.
    requests: Counter[str] = field(default_factory=Counter)

    def requests_of(self, service: str) -> int:
        return sum(count for name, count in self.requests.items() if name.startswith(f"{service}."))


@dataclass
class Meter:
    """Knows of the clients it was given. Calls outside of every `counting` are nobody's."""

    costs: dict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))
    _what: list[str] = field(default_factory=list)

    @contextmanager
    def counting(self, what: str) -> Iterator[Cost]:
        """The calls in this block are made for `what`, those of a block inside it for that one."""
        self._what.append(what)
        try:
            yield self.costs[what]
        finally:
            self._what.pop()

    def watch(self, client: Any) -> None:
        service = client.meta.service_model.service_name
        if service == "dynamodb":
            client.meta.events.register("provide-client-params.dynamodb", _ask_for_capacity)
        client.meta.events.register(f"provide-client-params.{service}", self._note)
        client.meta.events.register(f"after-call.{service}", self._count)

    def _note(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["metered"] = params

    def _count(self, model: Any, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        if not self._what:
            return
        cost = self.costs[self._what[-1]]
        cost.requests[f"{model.service_model.service_name}.{model.name}"] += 1
        if model.service_model.service_name != "dynamodb":
            return
        if model.name in _READS:
            cost.reads += _read_units(model.name, context["metered"], parsed)
        else:
            cost.writes += self._written_units(context["metered"], parsed)

    def _written_units(self, asked: dict[str, Any], parsed: dict[str, Any]) -> float:
        if "Statements" in asked:
            return len(parsed.get("Responses", []))
        consumed = parsed.get("ConsumedCapacity", [])
        units: float = sum(each["CapacityUnits"] for each in ([consumed] if isinstance(consumed, dict) else consumed))
        return units + (parsed.get("Error", {}).get("Code") in _REFUSED)


def _ask_for_capacity(params: dict[str, Any], **_: Any) -> None:
    params["ReturnConsumedCapacity"] = "TOTAL"


def _read_units(operation: str, asked: dict[str, Any], parsed: dict[str, Any]) -> float:
    if operation == "BatchGetItem":
        of_tables = asked["RequestItems"].items()
        return sum(
            _units([found], is_consistent=table.get("ConsistentRead", False))
            for name, table in of_tables
            for found in _padded(parsed.get("Responses", {}).get(name, []), len(table["Keys"]))
        )
    is_consistent = asked.get("ConsistentRead", False)
    items = parsed.get("Items", []) if operation == "Query" else [parsed.get("Item", {})]
    return _units(items, is_consistent=is_consistent)


def _padded(items: list[Any], count: int) -> list[Any]:
    """A key without an item costs as much as a small item."""
    return items + [{}] * (count - len(items))


def _units(items: list[dict[str, Any]], *, is_consistent: bool) -> float:
    units = max(ceil(sum(size_of(item) for item in items) / READ_UNIT_BYTES), 1)
    return units if is_consistent else units / 2


def size_of(item: dict[str, Any]) -> int:
    """In bytes, as DynamoDB counts a row: names and values."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def _size_of_value(value: dict[str, Any]) -> int:  # noqa: PLR0911 (one return for each type)
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return (len(content.lstrip("-").replace(".", "")) + 1) // 2 + 1
        case "B":
            return len(base64.b64decode(content) if isinstance(content, str) else content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _size_of_value(each) for name, each in content.items())
        case "L":
            return 3 + sum(1 + _size_of_value(each) for each in content)
        case "SS" | "NS" | "BS":
            return sum(_size_of_value({kind[0]: each}) for each in content)
        case _:
            return 1
