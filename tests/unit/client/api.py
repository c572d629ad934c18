"""The client over the API's real handler, in this process: what one sends is what the other reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import httpx

from carillon.client import Client
from carillon.client.connection import Time
from carillon.client.schedules import Schedule, cron
from functions.api.resolving import Handler
from shared.domain.run import RunStatus
from tests.unit.api.world import World, event_of

URL = "https://carillon.test"
HTTP = {"type": "http", "url": "https://example.com/hook"}
NIGHTLY: Schedule = cron("30 2 * * MON-FRI", timezone="Europe/Berlin")


@dataclass
class InProcess(httpx.BaseTransport):
    """Turns requests into events of an HTTP API, and keeps them."""

    handler: Handler
    requests: list[httpx.Request] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        body = request.read().decode() or None
        event = event_of(
            request.method, request.url.path, body, query=request.url.query.decode(), headers=dict(request.headers)
        )
        answer = self.handler(event, None)
        return httpx.Response(answer["statusCode"], headers=answer["headers"], text=answer["body"])


@dataclass
class FakeTime:
    """Sleeping takes no time, and is written down. Dice show their middle."""

    slept: list[float] = field(default_factory=list)

    @property
    def seams(self) -> Time:
        return Time(self.slept.append, lambda: sum(self.slept), lambda: 0.5)


def client_of(world: World, *, key: str | None = "", owner: str | None = None) -> Client:
    """`key` None sends none; empty is that of owner acme, with every scope."""
    sent = world.key_text if key == "" else key
    return Client(URL, sent, owner=owner, transport=InProcess(world.handler), time=FakeTime().seams)


def end_run(
    world: World, job_id: str, run_id: str, status: RunStatus = RunStatus.SUCCEEDED, *, owner: str = "acme"
) -> None:
    """As a worker does, without one."""
    runs = world.tables.runs
    key = next(each for each in runs if (each.job_key, each.run_id) == (f"{owner}/{job_id}", run_id))
    runs[key] = replace(runs[key], status=status, ended_at=world.clock.now())
