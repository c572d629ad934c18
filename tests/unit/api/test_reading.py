from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.api.paging import MAX_PAGE_LENGTH
from shared.adapters.memory import MemoryRunStore
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.pages import Page
from shared.domain.run import Attempt, Run, RunError, RunKind, RunStatus
from shared.domain.schedules import Gap
from tests.unit.api.test_cancelling import run_of
from tests.unit.api.world import CRON, HTTP, World, quoted

RUN_MEMBERS = [
    "run_id",
    "job_id",
    "kind",
    "slot",
    "fire_at",
    "status",
    "reason",
    "attempt",
    "fencing_token",
    "worker_id",
    "completion",
    "http_status",
    "revision",
    "enqueued_at",
    "received_at",
    "started_at",
    "ended_at",
    "cancel_requested_at",
    "retry_at",
    "drift_ms",
    "output",
    "error",
    "progress",
    "attempts",
]
PATH = "/v1/jobs/nightly-report"


def ids(world: World, query: str = "") -> list[str]:
    reply = world.send("GET", "/v1/jobs", query=query)
    assert reply.status == 200, reply.text
    return [item["job_id"] for item in reply.json["items"]]


@pytest.fixture
def world() -> World:
    world = World()
    for number, members in enumerate(
        [
            {"job_id": "a", "name": "Nightly report", "group": "billing", "tags": {"team": "finance", "env": "prod"}},
            {"job_id": "b", "name": "Nightly backup", "group": "billing", "tags": {"team": "it,ops"}},
            {"job_id": "c", "name": "Weekly report", "state": "paused", "tags": {"url": "a:b"}},
        ]
    ):
        world.create(**members)
        world.clock.advance(number + 1)
    return world


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["c", "b", "a"]),
        ("state=paused", ["c"]),
        ("state=active", ["b", "a"]),
        ("state=cancelled", []),
        ("group=billing", ["b", "a"]),
        ("group=bill", []),
        ("name_prefix=Nightly", ["b", "a"]),
        ("name_prefix=" + quoted("Nightly r"), ["a"]),
        ("tag=team:finance", ["a"]),
        ("tag=team:finance&tag=env:prod", ["a"]),
        ("tag=team:finance&tag=env:test", []),
        ("tag=" + quoted("team:it,ops"), ["b"]),
        ("tag=url:a:b", ["c"]),
        ("tag=none:none", []),
        ("group=billing&tag=team:finance&state=active&name_prefix=N", ["a"]),
    ],
)
def test_a_list_holds_the_jobs_that_every_filter_admits_newest_first(
    world: World, query: str, expected: list[str]
) -> None:
    assert ids(world, query) == expected


def test_a_list_is_read_page_by_page(world: World) -> None:
    first = world.send("GET", "/v1/jobs", query="limit=2").json
    second = world.send("GET", "/v1/jobs", query=f"limit=2&cursor={quoted(first['next_cursor'])}").json
    assert [item["job_id"] for item in first["items"] + second["items"]] == ["c", "b", "a"]
    assert second["next_cursor"] is None


def test_the_cursor_of_another_owner_is_refused(world: World) -> None:
    cursor = world.send("GET", "/v1/jobs", query="limit=2").json["next_cursor"]
    reply = world.send("GET", "/v1/jobs", query=f"cursor={quoted(cursor)}", key=world.mint("globex"))
    assert (reply.status, reply.pointers) == (400, ["#/cursor"])


def test_a_list_shows_jobs_as_a_get_does_but_for_their_runs(world: World) -> None:
    [listed] = world.send("GET", "/v1/jobs", query="name_prefix=Weekly").json["items"]
    assert {**listed, "last_run": None} == world.send("GET", "/v1/jobs/c").json


def test_a_page_of_large_payloads_is_short_and_nothing_is_left_out() -> None:
    world = World()
    payload = "x" * 130_000
    count = 6_000_000 // len(payload) + 2
    for number in range(count):
        world.create(job_id=f"large-{number}", payload=payload)
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = world.send("GET", "/v1/jobs", query="limit=200" + (f"&cursor={quoted(cursor)}" if cursor else ""))
        assert len(page.text) < 1.1 * MAX_PAGE_LENGTH
        seen += [item["job_id"] for item in page.json["items"]]
        cursor = page.json["next_cursor"]
    assert len(seen) == len(set(seen)) == count


class CountingRuns(MemoryRunStore):
    asked = 0

    def list_of_job(self, job_key: str, **options: Any) -> Page[Run]:
        self.asked += 1
        return super().list_of_job(job_key, **options)


def test_a_list_asks_for_runs_only_where_they_are_asked_for(world: World) -> None:
    runs = [run_of(world, world.job("b"), world.clock.advance(MINUTE), RunStatus.SUCCEEDED) for _ in range(3)]
    counting = CountingRuns(world.tables)
    handler = world.process(runs=counting)
    plain = world.send("GET", "/v1/jobs", handler=handler).json["items"]
    assert (counting.asked, [name for item in plain for name in item if "run" in name]) == (0, [])
    listed = world.send("GET", "/v1/jobs", query="last_runs=2", handler=handler).json["items"]
    assert counting.asked == 3
    shown = {item["job_id"]: [run["run_id"] for run in item["last_runs"]] for item in listed}
    assert shown == {"a": [], "b": [runs[2].run_id, runs[1].run_id], "c": []}


@pytest.mark.parametrize("count", ["21", "-1", "x"])
def test_more_last_runs_than_are_shown_are_refused(world: World, count: str) -> None:
    reply = world.send("GET", "/v1/jobs", query=f"last_runs={count}")
    assert (reply.status, reply.pointers) == (400, ["#/last_runs"])


def test_a_run_is_shown_with_every_member_and_its_drift() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run = run_of(world, job, world.clock.advance(MINUTE))
    stored = replace(
        run,
        status=RunStatus.FAILED,
        enqueued_at=Instant(run.slot - 300),
        received_at=Instant(run.slot - 250),
        claimed_at=Instant(run.slot - 200),
        started_at=Instant(run.slot + 4),
        ended_at=Instant(run.slot + 1_004),
        worker_id="worker-1",
        token=2,
        error=RunError("http_5xx", "503 Service Unavailable"),
        attempts=(
            Attempt(1, None, run.slot, "worker-0", RunError("lost", "lease ran out")),
            Attempt(2, run.slot, run.slot, "worker-1", RunError("http_5xx", "503"), http_status=503),
        ),
    )
    world.tables.put_run(stored, None)
    reply = world.send("GET", f"{PATH}/runs/{run.run_id}")
    assert reply.status == 200
    assert sorted(reply.json) == sorted(RUN_MEMBERS)
    assert reply.json["run_id"] == "20261127T000100000Z"
    assert reply.json["slot"] == "2026-11-27T00:01:00.000Z"
    assert (reply.json["fencing_token"], reply.json["status"]) == (2, "failed")
    assert reply.json["drift_ms"] == {"total": 4, "dispatch": 0, "queue": 0, "claim": 0, "start": 4}
    assert reply.json["error"] == {"type": "http_5xx", "message": "503 Service Unavailable"}
    assert [(each["worker_id"], each["http_status"]) for each in reply.json["attempts"]] == [
        ("worker-0", None),
        ("worker-1", 503),
    ]
    assert reply.json["http_status"] == 503


def test_a_run_that_has_not_started_has_no_drift() -> None:
    world = World()
    run = run_of(world, world.create(schedule={"every": "PT1M"}), world.clock.advance(MINUTE))
    shown = world.send("GET", f"{PATH}/runs/{run.run_id}").json
    assert (shown["drift_ms"], shown["started_at"], shown["worker_id"]) == (None, None, None)


def test_a_gap_says_which_slots_it_stands_for() -> None:
    world = World()
    run = run_of(world, world.create(schedule={"every": "PT1M"}), world.clock.advance(MINUTE))
    gap = Gap(run.slot, Instant(run.slot + 2 * MINUTE), 3)
    world.tables.put_run(replace(run, status=RunStatus.SKIPPED, reason="misfire", gap=gap), None)
    shown = world.send("GET", f"{PATH}/runs/{run.run_id}").json
    assert shown["gap"] == {"first": "2026-11-27T00:01:00.000Z", "last": "2026-11-27T00:03:00.000Z", "count": 3}


def test_runs_are_listed_newest_first_page_by_page_and_the_newest_is_the_jobs_last_run() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    runs = [run_of(world, job, world.clock.advance(MINUTE), RunStatus.SUCCEEDED) for _ in range(3)]
    first = world.send("GET", f"{PATH}/runs", query="limit=2").json
    second = world.send("GET", f"{PATH}/runs", query=f"limit=2&cursor={quoted(first['next_cursor'])}").json
    shown = [item["run_id"] for item in first["items"] + second["items"]]
    assert shown == [run.run_id for run in reversed(runs)]
    assert world.send("GET", PATH).json["last_run"] == {"run_id": runs[-1].run_id, "status": "succeeded"}


def test_the_runs_of_a_job_that_is_gone_can_still_be_read() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run = run_of(world, job, world.clock.advance(MINUTE), RunStatus.SUCCEEDED)
    del world.tables.jobs[job.job_key]
    assert world.send("GET", PATH).status == 404
    assert [item["run_id"] for item in world.send("GET", f"{PATH}/runs").json["items"]] == [run.run_id]
    assert world.send("GET", f"{PATH}/runs/{run.run_id}").status == 200


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=skipped", [3]),
        ("status=skipped&status=failed", [3, 1]),
        ("status=running", []),
        ("kind=manual", [2]),
        ("since=2026-11-27T00:02:00Z", [4, 3, 2]),
        ("until=2026-11-27T00:03:00Z", [2, 1]),
        ("since=2026-11-27T00:02:00Z&until=2026-11-27T00:04:00Z&status=skipped", [3]),
        ("since=2026-11-27T00:03:00Z&until=2026-11-27T00:02:00Z", []),
    ],
)
def test_the_runs_of_a_job_are_chosen_by_status_kind_and_slot(query: str, expected: list[int]) -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    statuses = (RunStatus.FAILED, RunStatus.SUCCEEDED, RunStatus.SKIPPED, RunStatus.SUCCEEDED)
    kinds = (RunKind.SCHEDULED, RunKind.MANUAL, RunKind.SCHEDULED, RunKind.SCHEDULED)
    for status, kind in zip(statuses, kinds, strict=True):
        run = run_of(world, job, world.clock.advance(MINUTE), status)
        world.tables.put_run(replace(run, kind=kind, status=status), None)
    reply = world.send("GET", f"{PATH}/runs", query=query)
    assert reply.status == 200, reply.text
    assert [item["slot"] for item in reply.json["items"]] == [f"2026-11-27T00:0{n}:00.000Z" for n in expected]


@pytest.mark.parametrize(
    ("query", "pointer"), [("status=done", "#/status"), ("kind=x", "#/kind"), ("since=x", "#/since")]
)
def test_a_wrong_filter_of_runs_is_refused_by_name(query: str, pointer: str) -> None:
    world = World()
    world.create()
    reply = world.send("GET", f"{PATH}/runs", query=query)
    assert reply.status == 400
    assert reply.pointers[0].startswith(pointer)


def test_a_job_that_never_was_has_no_runs_though_a_stray_message_left_a_row() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run = run_of(world, job, world.clock.advance(MINUTE), RunStatus.CANCELLED)
    assert world.send("GET", f"{PATH}/runs").status == 200
    del world.tables.jobs[job.job_key]
    assert world.send("GET", f"{PATH}/runs").status == 404
    world.tables.put_run(replace(run, status=RunStatus.SUCCEEDED, started_at=run.slot), None)
    assert world.send("GET", f"{PATH}/runs").status == 200
    assert world.send("GET", f"{PATH}/runs", query="status=skipped").json["items"] == []


def test_a_page_of_large_runs_is_short_and_nothing_is_left_out() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    text = "\x01" * 4_096
    attempts = tuple(Attempt(each, None, None, "w", RunError("http_5xx", text)) for each in range(20))
    for _ in range(30):
        run = run_of(world, job, world.clock.advance(MINUTE))
        failed = replace(run, status=RunStatus.FAILED, ended_at=run.slot, output=text, attempts=attempts)
        world.tables.put_run(failed, None)
    for path, query in ((f"{PATH}/runs", "limit=200"), ("/v1/runs", "status=failed&limit=200")):
        seen: list[str] = []
        cursor = ""
        while cursor is not None:
            page = world.send("GET", path, query=query + (f"&cursor={quoted(cursor)}" if cursor else ""))
            assert len(page.text) < 1.1 * MAX_PAGE_LENGTH
            seen += [item["run_id"] for item in page.json["items"]]
            cursor = page.json["next_cursor"]
        assert len(seen) == len(set(seen)) == 30


def test_a_job_without_runs_has_an_empty_list() -> None:
    world = World()
    world.create()
    assert world.send("GET", f"{PATH}/runs").json == {"items": [], "next_cursor": None}


@pytest.mark.parametrize("run_id", ["20261127T000100000Z", "x#y", "ü", "a" * 200])
def test_a_run_that_is_not_there_is_not_found(run_id: str) -> None:
    world = World()
    world.create()
    assert world.send("GET", f"{PATH}/runs/{run_id}").status == 404


def test_a_preview_shows_the_coming_slots_in_local_time_with_their_marks() -> None:
    body = {
        "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
        "count": 3,
        "after": "2027-03-26T12:00:00Z",
    }
    reply = World().send("POST", "/v1/schedules/preview", body)
    assert reply.status == 200
    assert [item["slot"] for item in reply.json["items"]] == [
        "2027-03-27T01:30:00.000Z",
        "2027-03-28T01:00:00.000Z",
        "2027-03-29T00:30:00.000Z",
    ]
    assert reply.json["items"][1]["marks"] == ["gap_shifted"]
    assert reply.json["items"][0]["local"].startswith("2027-03-27T02:30:00")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"schedule": CRON, "count": 101}, "#/count"),
        ({"schedule": CRON, "count": 0}, "#/count"),
        ({"schedule": CRON, "after": "soon"}, "#/after"),
        ({"schedule": CRON, "target": HTTP}, "#/target"),
        ({"schedule": {"cron": "0 0 30 2 *"}}, "#/schedule/cron"),
        ({"count": 1}, "#/schedule"),
    ],
)
def test_a_wrong_preview_is_refused_by_name(body: dict[str, object], pointer: str) -> None:
    reply = World().send("POST", "/v1/schedules/preview", body)
    assert (reply.status, reply.pointers) == (400, [pointer])


def test_a_preview_writes_nothing() -> None:
    world = World()
    before = world.contents()
    world.clock.advance(SECOND)
    assert world.send("POST", "/v1/schedules/preview", {"schedule": {"every": "PT5S"}}).status == 200
    assert world.contents() == before
