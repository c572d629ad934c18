"""A world in which every example of the OpenAPI document works: an owner with a job, a run, keys and a grant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from functions.api.openapi.operation import Operation
from functions.api.openapi.resources import OPERATIONS
from functions.api.resolving import routes_of
from functions.api.routing import Route
from shared.domain.access import ApiKey, Scope
from shared.domain.grants import Grant
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant
from shared.domain.keys import owner_of
from shared.domain.run import RunError, RunKind, RunStatus
from shared.domain.signing import SigningKey
from tests.unit.api.world import Reply, World

#: In everything that the owner wrote: nobody else may be shown it.
SECRET = "acme-secret"
ID = "a1b2c3d4e5f6"
RUN_ID = "20261127T013000000Z"


def prepared() -> World:
    world = World()
    members: dict[str, Any] = {"name": SECRET, "group": "billing", "tags": {"team": "finance"}, "payload": SECRET}
    job = world.create(**members)
    now = world.clock.advance(90 * MINUTE)
    slot = now
    world.clock.advance(HOUR)
    error = RunError("http_5xx", SECRET)
    run = world.claimed(job, slot)
    world.tables.put_run(
        replace(
            run,
            kind=RunKind.SCHEDULED,
            status=RunStatus.FAILED,
            claimed_at=slot,
            started_at=slot,
            ended_at=Instant(slot + SECOND),
            output=SECRET,
            error=error,
        ),
        None,
    )
    assert run.run_id == RUN_ID
    by = "test"
    world.access.put_key(ApiKey(ID, "acme", "hash", frozenset({Scope.READ}), now, by, name=SECRET))
    world.access.put_signing_key(SigningKey("acme", ID, SECRET, now, by))
    world.access.put_grant(Grant("acme", ID, "http", f"{SECRET}.example.com", now, by))
    return world


@dataclass(frozen=True, slots=True)
class Example:
    """The request that the document gives for an operation."""

    route: Route
    operation: Operation

    def __str__(self) -> str:
        return self.operation.name

    @property
    def path(self) -> str:
        path = self.route.path
        for name, value in self.operation.path.items():
            path = path.replace(f"<{name}>", value)
        return path

    @property
    def query(self) -> str:
        return urlencode(self.operation.query)

    def send(self, world: World, *, query: str | None = None, **options: Any) -> Reply:
        return world.send(
            self.route.method,
            self.path,
            self.operation.example if self.route.body else None,
            query=self.query if query is None else query,
            **options,
        )


def examples() -> list[Example]:
    return [Example(route, OPERATIONS[route.method, route.path]) for route in routes_of(World().backend())]


def of_owner(world: World, owner_id: str) -> Any:
    """Everything in the tables that belongs to the owner."""
    tables = world.tables
    entries = [entry for shard in tables.entries.values() for entry in shard.values()]
    return (
        {key: job for key, job in tables.jobs.items() if job.owner_id == owner_id},
        [entry for entry in entries if owner_of(entry.job_key) == owner_id],
        {key: run for key, run in tables.runs.items() if owner_of(run.job_key) == owner_id},
        {key: each for key, each in tables.keys.items() if each.owner_id == owner_id},
        {key: each for key, each in tables.receipts.items() if key[0] == owner_id},
        tables.grants.get(owner_id),
        tables.signing_keys.get(owner_id),
    )
