"""Methods about the fleet and the service; most need scope admin."""

from __future__ import annotations

from typing import Any

from carillon.client.connection import Connection, path_to
from carillon.client.fleet_documents import Fleet, Health, OwnerErasure


class FleetCalls:
    _connection: Connection

    def fleet(self) -> Fleet:
        """Nodes, shards with their owner and watermark, and the brake."""
        fleet: Fleet = self._connection.call("GET", path_to("fleet"))
        return fleet

    def set_firing(self, *, on: bool) -> None:
        """The brake: with firing off nobody dispatches within two seconds; what was dispatched still runs."""
        self._connection.call("PUT", path_to("fleet", "firing"), {"on": on})

    def erase_owner(self, owner_id: str) -> OwnerErasure:
        """Cancel and erase all that an owner wrote, in as many requests as it takes, until nothing more is found."""
        total: OwnerErasure = {"jobs": 0, "runs": 0, "keys": 0}
        while True:
            before = dict(total)
            is_done = self._erase_pass(owner_id, total)
            if is_done and total == before:
                return total

    def _erase_pass(self, owner_id: str, total: OwnerErasure) -> bool:
        path, cursor = path_to("owners", owner_id, "erase"), None
        while True:
            answer: dict[str, Any] = self._connection.call("POST", path, {"cursor": cursor})
            total["jobs"] += answer["jobs"]
            total["runs"] += answer["runs"]
            total["keys"] += answer["keys"]
            cursor = answer["next_cursor"]
            if cursor is None:
                return bool(answer["is_done"])

    def health(self) -> Health:
        """Needs no key. The version of the deployment and of its time zone data."""
        health: Health = self._connection.call("GET", path_to("health"), is_open=True)
        return health

    def openapi(self) -> dict[str, Any]:
        """The API's description of itself. Needs no key."""
        document: dict[str, Any] = self._connection.call("GET", path_to("openapi.json"), is_open=True)
        return document
