"""Routes of the fleet, for admins: who fires what, how far each shard is, and the brake."""

from __future__ import annotations

from dataclasses import dataclass, field

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import fleet_document
from functions.api.gate import call_of
from functions.api.requests import SetFiring
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.sightings import Sightings
from shared.domain.access import Scope


@dataclass(frozen=True, slots=True)
class FleetRoutes:
    backend: Backend
    #: What this process has seen of the nodes.
    sightings: Sightings = field(default_factory=Sightings)

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/fleet", self.show, Scope.ADMIN),
            Route("PUT", "/v1/fleet/firing", self.set_firing, Scope.ADMIN, body=JSON_BODY, model=SetFiring),
        ]

    def show(self) -> Answer:
        clock = self.backend.clock
        snapshot = self.backend.fleet.snapshot()
        statuses = self.sightings.look(snapshot.nodes, at=clock.monotonic())
        document = fleet_document(snapshot, statuses, shard_count=self.backend.shard_count, now=clock.now())
        return answer(document)

    def set_firing(self, body: SetFiring, request: Request) -> Answer:
        """With firing off nobody dispatches within two seconds; what was dispatched before still runs."""
        self.backend.fleet.set_firing(is_firing=body.on)
        audit.note("fleet.set_firing", call_of(request), on=body.on)
        return answer({"on": body.on})
