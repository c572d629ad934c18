"""Writes of your own that a stale worker cannot make.

A worker that was cut off for a while may still be at work on a run that another has taken over. Carillon discards what
it returns; what it writes elsewhere must be refused there. In DynamoDB, keep the fence in the row and let it only rise:

    @handler("resize")
    def resize(context: Context, payload: dict[str, str]) -> None:
        table = boto3.resource("dynamodb").Table("images")
        table.put_item(**context.fence.put(Item={"id": payload["id"], "state": "resized"}))
        table.update_item(**context.fence.update(
            Key={"id": payload["id"]}, UpdateExpression="SET width = :width", ExpressionAttributeValues={":width": 3}
        ))

    client.put_item(**context.fence.low_level.put(TableName="images", Item={"id": {"S": "7"}}))

A stale write raises ConditionalCheckFailedException. The fence orders runs by their slot and the tries of one run by
their token: a row that was written by a later run is not written by an earlier one again. Over HTTP, send
`context.headers`, and let the receiver refuse a `Carillon-Fencing-Token` lower than one it saw for the same run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_NAME, _VALUE = "#carillon_fence", ":carillon_fence"
_CONDITION = f"(attribute_not_exists({_NAME}) OR {_NAME} <= {_VALUE})"
#: Not a part of a placeholder, such as `#SET`.
_SET = re.compile(r"(?<![#:\w])SET\s", re.ASCII | re.IGNORECASE)
_TOKEN_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Fence:
    """Requests of DynamoDB that a newer try of the run, or a later run, has not overtaken."""

    run_id: str
    token: int
    #: The attribute of your row that carries the fence.
    attribute: str = "carillon_fence"
    #: Values as clients write them, such as `{"S": "text"}`, rather than as tables do.
    is_low_level: bool = False

    @property
    def value(self) -> str:
        """Rises, as text, with the slot of the run and then with the token."""
        return f"{self.run_id}#{self.token:0{_TOKEN_DIGITS}d}"

    @property
    def low_level(self) -> Fence:
        """The same for clients, and for `TransactWriteItems`."""
        return replace(self, is_low_level=True)

    def put(self, **request: Any) -> dict[str, Any]:
        """The request of a `put_item`, with the fence in its item and its condition."""
        return self._conditional(request) | {"Item": {**request["Item"], self.attribute: self._typed()}}

    def update(self, **request: Any) -> dict[str, Any]:
        """The request of an `update_item`, which sets the fence too."""
        expression = str(request.get("UpdateExpression", ""))
        setting = f"{_NAME} = {_VALUE}"
        found = _SET.search(expression)
        merged = (
            f"SET {setting} {expression}".strip()
            if found is None
            else f"{expression[: found.start()]}SET {setting}, {expression[found.end() :]}"
        )
        return self._conditional(request) | {"UpdateExpression": merged}

    def delete(self, **request: Any) -> dict[str, Any]:
        """The request of a `delete_item`. A row that is gone keeps no fence: where that matters, mark it instead."""
        return self._conditional(request)

    def _conditional(self, request: Mapping[str, Any]) -> dict[str, Any]:
        condition = request.get("ConditionExpression")
        if condition is not None and not isinstance(condition, str):
            raise TypeError("write the ConditionExpression as a text: the fence cannot be joined to an object")
        return {
            **request,
            "ConditionExpression": _CONDITION if condition is None else f"({condition}) AND {_CONDITION}",
            "ExpressionAttributeNames": {**request.get("ExpressionAttributeNames", {}), _NAME: self.attribute},
            "ExpressionAttributeValues": {**request.get("ExpressionAttributeValues", {}), _VALUE: self._typed()},
        }

    def _typed(self) -> Any:
        return {"S": self.value} if self.is_low_level else self.value


def run_headers(*, slot: str, attempt: int, token: int) -> dict[str, str]:
    """What every call that Carillon makes for a run says of it. `slot` is RFC 3339 with milliseconds."""
    return {
        "Carillon-Attempt": str(attempt),
        "Carillon-Slot": slot,
        "Carillon-Fencing-Token": str(token),
    }
