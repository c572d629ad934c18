"""Failed runs are run again."""

from __future__ import annotations

from typing import Any

import pytest

from shared.adapters.memory import MemoryRunStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.run import RunStatus
from tests.unit.api.test_run_changes import EVERY, run_in, single_entries, stored
from tests.unit.api.world import JOB, World

ALL: dict[str, Any] = {"all": True}


@pytest.fixture
def world() -> World:
    return World()


def test_a_redrive_is_shown_before_it_is_done(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)

    reply = world.send("POST", "/v1/redrives", {**ALL, "dry_run": True})

    assert (reply.status, reply.json["planned"], reply.json["redriven"], reply.json["dry_run"]) == (200, 1, 0, True)
    assert [item["outcome"] for item in reply.json["items"]] == ["planned"]
    assert stored(world, run) == run
    assert single_entries(world) == []


def test_failed_runs_are_redriven_at_a_rate(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(3):
        run_in(world, job, RunStatus.FAILED, number)

    reply = world.send("POST", "/v1/redrives", {**ALL, "rate": 2})

    assert (reply.status, reply.json["redriven"], reply.json["next_cursor"]) == (202, 3, None)
    starts = sorted(entry.next_at - world.clock.now() for entry in single_entries(world))
    assert starts == [0, SECOND // 2, SECOND]
    assert {entry.lane for entry in single_entries(world)} == {"catchup"}
    assert world.send("GET", "/v1/runs", query="status=failed").json["items"] == []
    assert world.send("POST", "/v1/redrives", ALL).json["redriven"] == 0


def test_a_redrive_of_many_is_continued_by_its_cursor(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(5):
        run_in(world, job, RunStatus.FAILED, number)

    first = world.send("POST", "/v1/redrives", {**ALL, "limit": 3}).json
    second = world.send("POST", "/v1/redrives", {**ALL, "limit": 3, "cursor": first["next_cursor"]}).json

    assert (first["redriven"], second["redriven"], second["next_cursor"]) == (3, 2, None)
    assert len(single_entries(world)) == 5


def test_the_rate_is_kept_over_all_redrives_of_an_owner(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(5):
        run_in(world, job, RunStatus.FAILED, number)
    start = world.clock.now()

    world.send("POST", "/v1/redrives", {**ALL, "limit": 2, "rate": 2, "dry_run": True})
    first = world.send("POST", "/v1/redrives", {**ALL, "limit": 2, "rate": 2}).json
    world.clock.advance(100)
    second = world.send("POST", "/v1/redrives", {**ALL, "limit": 2, "rate": 2, "cursor": first["next_cursor"]}).json
    # Another one, that goes on with nothing, and later than all that is planned.
    world.clock.advance(5 * SECOND)
    world.send("POST", "/v1/redrives", {**ALL, "rate": 2})

    assert second["items"][0]["starts_at"] == to_rfc3339(Instant(start + SECOND))
    starts = sorted(entry.next_at - start for entry in single_entries(world))
    assert starts == [0, SECOND // 2, SECOND, 3 * SECOND // 2, 5 * SECOND + 100]


def test_a_redrive_that_is_sent_again_is_about_the_same_runs(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(5):
        run_in(world, job, RunStatus.FAILED, number)
    first = world.send("POST", "/v1/redrives", {**ALL, "limit": 2}, idempotency_key="once")
    world.clock.advance(SECOND)

    again = world.send("POST", "/v1/redrives", {**ALL, "limit": 2}, idempotency_key="once")

    assert (again.status, again.json) == (first.status, first.json)
    assert len(single_entries(world)) == 2
    assert world.send("POST", "/v1/redrives", {**ALL, "limit": 3}, idempotency_key="once").status == 422
    assert world.send("POST", "/v1/redrives", {**ALL, "limit": 2}, idempotency_key="twice").json["redriven"] == 2
    assert len(single_entries(world)) == 4


def test_a_redrive_that_is_sent_again_runs_nothing_that_it_could_not_run_at_first(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    world.send("POST", f"/v1/jobs/{JOB['job_id']}/pause")
    first = world.send("POST", "/v1/redrives", ALL, idempotency_key="once")
    assert [item["outcome"] for item in first.json["items"]] == ["job_paused"]
    world.send("POST", f"/v1/jobs/{JOB['job_id']}/resume")

    again = world.send("POST", "/v1/redrives", ALL, idempotency_key="once")

    assert again.json == first.json
    assert stored(world, run) == run


def test_a_redrive_that_was_broken_off_is_completed_when_it_is_sent_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.create(schedule=EVERY)
    runs = [run_in(world, job, RunStatus.FAILED, number) for number in range(4)]
    plan = MemoryRunStore.plan

    def plan_one(store: MemoryRunStore, *args: Any, **options: Any) -> Any:
        if single_entries(world):
            raise StoreThrottled("runs.plan", "no more")
        return plan(store, *args, **options)

    monkeypatch.setattr(MemoryRunStore, "plan", plan_one)
    assert world.send("POST", "/v1/redrives", {**ALL, "limit": 2, "rate": 2}, idempotency_key="once").status == 503
    monkeypatch.undo()
    failed_since = run_in(world, job, RunStatus.FAILED, 9)
    world.tables.runs.pop(runs[2].key)

    again = world.send("POST", "/v1/redrives", {**ALL, "limit": 2, "rate": 2}, idempotency_key="once").json

    outcomes = {each["run_id"]: each["outcome"] for each in again["items"]}
    assert outcomes == {runs[3].run_id: "redriven", runs[2].run_id: "changed"}
    assert stored(world, failed_since) == failed_since
    assert len(single_entries(world)) == 1


def test_owners_do_not_wait_for_each_others_redrives(world: World) -> None:
    run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    world.send("POST", "/v1/redrives", {**ALL, "rate": 0.01})
    stranger = world.mint("globex")
    body = {**JOB, "schedule": EVERY}
    assert world.send("POST", "/v1/jobs", body, key=stranger).status == 201
    run = run_in(world, world.job(owner_id="globex"), RunStatus.FAILED)

    [item] = world.send("POST", "/v1/redrives", ALL, key=stranger).json["items"]

    assert (item["run_id"], item["starts_at"]) == (run.run_id, to_rfc3339(world.clock.now()))


def test_a_redrive_says_of_each_run_what_became_of_it(world: World) -> None:
    paused = world.create(job_id="paused", schedule=EVERY)
    gone = world.create(job_id="gone", schedule=EVERY)
    for job in (paused, gone):
        run_in(world, job, RunStatus.FAILED)
    world.send("POST", "/v1/jobs/paused/pause")
    world.send("DELETE", "/v1/jobs/gone")

    items = world.send("POST", "/v1/redrives", ALL).json["items"]

    outcomes = {each["job_id"]: each["outcome"] for each in items}
    assert outcomes == {"paused": "job_paused", "gone": "job_ended"}


@pytest.mark.parametrize(
    ("member", "value"),
    [("rate", 0.009), ("rate", 101), ("limit", 0), ("limit", 101), ("job_id", "a b"), ("since", "x"), ("all", 1)],
)
def test_a_wrong_member_of_a_redrive_is_named(world: World, member: str, value: object) -> None:
    assert world.send("POST", "/v1/redrives", {**ALL, member: value}).pointers == [f"#/{member}"]


@pytest.mark.parametrize("body", [{}, {"rate": 20}, {"group": ""}, {"dry_run": True}, {"limit": 1}, {"all": False}])
def test_everything_runs_again_only_where_that_is_said(world: World, body: dict[str, Any]) -> None:
    run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    before = world.contents()
    reply = world.send("POST", "/v1/redrives", body)
    assert (reply.status, reply.pointers, world.contents() == before) == (400, ["#"], True)
    assert '"all": true' in reply.json["detail"]


@pytest.mark.parametrize("choice", [{"group": "billing"}, {"job_id": "a"}, {"since": "2026-11-26T00:00:00Z"}])
def test_all_and_some_of_them_contradict_each_other(world: World, choice: dict[str, Any]) -> None:
    reply = world.send("POST", "/v1/redrives", {**ALL, **choice})
    assert (reply.status, reply.pointers) == (400, ["#/all"])


@pytest.mark.parametrize(
    ("body", "query", "expected"),
    [
        ({"group": "billing"}, "group=billing", {"a", "b"}),
        ({"group": "billing", "tags": {"team": "it"}}, "group=billing&tag=team:it", {"b"}),
        ({"tags": {"team": "it"}}, "tag=team:it", {"b", "c"}),
        ({"group": "", "tags": {"team": "it"}}, "group=&tag=team:it", {"c"}),
        ({"group": "billing", "error_type": "timeout"}, "group=billing&error_type=timeout", set()),
        ({"job_id": "c", "group": "billing"}, "job_id=c&group=billing", set()),
    ],
)
def test_failed_runs_are_chosen_by_group_and_tag_of_their_jobs(
    world: World, body: dict[str, Any], query: str, expected: set[str]
) -> None:
    members: dict[str, Any] = {
        "a": {"group": "billing"},
        "b": {"group": "billing", "tags": {"team": "it"}},
        "c": {"tags": {"team": "it"}},
    }
    for job_id, of_job in members.items():
        run_in(world, world.create(job_id=job_id, schedule=EVERY, **of_job), RunStatus.FAILED)
    gone = run_in(world, world.create(job_id="gone", schedule=EVERY, group="billing"), RunStatus.FAILED)
    del world.tables.jobs[gone.job_key]
    listed = world.send("GET", "/v1/runs", query=f"status=failed&{query}").json["items"]
    dry = world.send("POST", "/v1/redrives", {**body, "dry_run": True}).json
    done = world.send("POST", "/v1/redrives", body).json
    assert {item["job_id"] for item in listed} == expected
    for items in (dry["items"], done["items"]):
        assert {item["job_id"] for item in items} == expected
    assert (dry["planned"], done["redriven"]) == (len(expected), len(expected))


def test_a_group_is_looked_for_among_many_failures_page_by_page(world: World) -> None:
    other, wanted = world.create(job_id="other", schedule=EVERY), world.create(job_id="a", group="b", schedule=EVERY)
    for number in range(30):
        run_in(world, wanted if number % 10 == 0 else other, RunStatus.FAILED, number)
    found, cursor = [], None
    while True:
        page = world.send("POST", "/v1/redrives", {"group": "b", "limit": 2, "cursor": cursor, "dry_run": True}).json
        assert len(page["items"]) <= 2
        found += [item["run_id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(found) == len(set(found)) == 3
