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
        """Cancel and erase all that an owner wrote, in as many requests as it takes."""
        total: OwnerErasure = {"jobs": 0, "runs": 0, "keys": 0, "is_done": False}
        while True:
            found = self._erase_pass(owner_id)
            total["jobs"] += found["jobs"]
            total["runs"] += found["runs"]
            total["keys"] += found["keys"]
            # A pass that leaves runs for the next one erases as many as it may; one that finds none has no more to do.
            if found["runs"] == 0:
                total["is_done"] = found["is_done"]
                return total

    def _erase_pass(self, owner_id: str) -> OwnerErasure:
        """Once over all jobs."""
        path, cursor = path_to("owners", owner_id, "erase"), None
        found: OwnerErasure = {"jobs": 0, "runs": 0, "keys": 0, "is_done": True}
        while True:
            answer: dict[str, Any] = self._connection.call("POST", path, {"cursor": cursor})
            found["jobs"] += answer["jobs"]
            found["runs"] += answer["runs"]
            found["keys"] += answer["keys"]
            cursor = answer["next_cursor"]
            if cursor is None:
                found["is_done"] = answer["is_done"]
                return found

    def health(self) -> Health:
        """Needs no key. The version of the deployment and of its time zone data."""
        health: Health = self._connection.call("GET", path_to("health"), is_open=True)
        return health

    def openapi(self) -> dict[str, Any]:
        """The API's description of itself. Needs no key."""
        document: dict[str, Any] = self._connection.call("GET", path_to("openapi.json"), is_open=True)
        return document
