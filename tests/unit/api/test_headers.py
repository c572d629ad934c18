"""What every answer tells a browser, whoever made it: a route, the gate before any route, or a fault."""

from __future__ import annotations

import pytest

from shared.adapters.memory import MemoryJobStore
from shared.domain.job import Job
from tests.unit.api.world import JOB, World


class _Broken(MemoryJobStore):
    def get(self, job_key: str) -> Job | None:
        raise KeyError(job_key)


@pytest.mark.parametrize(
    ("method", "path", "body", "key", "status"),
    [
        ("GET", "/v1/health", None, None, 200),
        ("GET", "/v1/openapi.json", None, None, 200),
        ("GET", "/v1/jobs", None, "", 200),
        ("POST", "/v1/jobs", JOB, "", 201),
        ("POST", "/v1/jobs", "<html>", "", 400),
        ("GET", "/v1/jobs", None, None, 401),
        ("GET", "/v1/jobs/none", None, "", 404),
        ("GET", "/v1/jobs/a%0A", None, "", 404),
        ("GET", "/console", None, "", 404),
        ("OPTIONS", "/v1/jobs", None, "", 405),
    ],
)
def test_no_answer_is_kept_or_guessed_at(method: str, path: str, body: object, key: str | None, status: int) -> None:
    reply = World().send(method, path, body, key=key)
    assert reply.status == status, reply.text
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_neither_is_the_answer_to_a_fault() -> None:
    world = World()
    reply = world.send("GET", "/v1/jobs/a", handler=world.process(jobs=_Broken(world.tables)))
    assert reply.status == 500
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
