from __future__ import annotations

import pytest

from functions.api.responses import KINDS, PROBLEMS_URL
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import OutcomeUnknown, StoreContended, StoreThrottled, WriteRefused
from shared.domain.job import Job
from shared.ports import JobWrite, WriteOutcome
from tests.unit.api.world import JOB, World


class Failing(MemoryJobStore):
    def __init__(self, world: World, error: Exception) -> None:
        super().__init__(world.tables)
        self.error = error

    def get(self, job_key: str) -> Job | None:
        del job_key
        raise self.error

    def write(self, change: JobWrite) -> WriteOutcome:
        del change
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (StoreThrottled("jobs.write", "table carillon-jobs-1A2B"), 503, "nothing was written"),
        (StoreContended("jobs.write", "table carillon-jobs-1A2B"), 503, "nothing was written"),
        (OutcomeUnknown("jobs.write", "table carillon-jobs-1A2B"), 503, "it may have happened"),
        (WriteRefused("jobs.write", "table carillon-jobs-1A2B"), 500, "the log has more"),
        (KeyError("carillon-jobs-1A2B"), 500, "the log has more"),
        (RecursionError("carillon-jobs-1A2B"), 500, "the log has more"),
    ],
)
@pytest.mark.parametrize("request_line", ["POST /v1/jobs", "GET /v1/jobs/a"])
def test_a_fault_is_a_problem_that_tells_what_to_do_and_nothing_about_us(
    request_line: str, error: Exception, status: int, detail: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    method, path = request_line.split()
    body = JOB if method == "POST" else None
    reply = world.send(method, path, body, handler=world.process(jobs=Failing(world, error)))
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert ("retry-after" in reply.headers) == (status == 503)
    assert detail in reply.json["detail"]
    assert "1A2B" not in reply.text
    logged = [vars(record) for record in caplog.records]
    assert [(line["levelname"], line["action"], line["request_id"]) for line in logged] == [
        ("ERROR", "request.fail", "request-1")
    ]


def test_a_fault_while_the_key_is_looked_up_is_no_wrong_key(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def fail(key_id: str) -> None:
        raise StoreThrottled("access.key", key_id)

    monkeypatch.setattr(world.access, "key", fail)
    assert world.send("GET", "/v1/jobs").status == 503


def test_every_kind_of_problem_has_a_page_of_its_own() -> None:
    kinds = {(kind.slug, kind.title) for _, kind in KINDS}
    assert len({slug for slug, _ in kinds}) == len({title for _, title in kinds})
    assert PROBLEMS_URL.startswith("https://")
    # It is an identifier: one that names a branch changes with it.
    assert "/blob/" not in PROBLEMS_URL
    assert KINDS[-1][0] is Exception


def test_each_change_is_logged_once_without_what_is_in_the_job(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    secret = {
        "job_id": "a",
        "payload": "secret-1",
        "target": {"type": "http", "url": "https://secret-2.example/", "headers": {"X": "secret-3"}},
    }
    world.create(**secret)
    world.send("PATCH", "/v1/jobs/a", {"payload": "secret-4"})
    world.send("POST", "/v1/jobs/a/pause")
    world.send("POST", "/v1/jobs/a/pause")
    world.send("POST", "/v1/jobs/a/resume")
    world.send("GET", "/v1/jobs/a")
    world.send("DELETE", "/v1/jobs/a")
    world.send("DELETE", "/v1/jobs/a")
    lines = [vars(record) for record in caplog.records]
    assert [line["action"] for line in lines] == ["job.create", "job.update", "job.pause", "job.resume", "job.cancel"]
    assert {(line["owner_id"], line["job_id"], line["request_id"]) for line in lines} == {("acme", "a", "request-1")}
    assert {line["by"] for line in lines} == {f"key:crl_{world.key_of(world.key_text).key_id}"}
    assert "secret" not in str(lines)
    assert world.key_text not in str(lines)
