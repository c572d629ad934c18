"""What is purged is gone: from the job, from its runs, and for good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from functions.api import owners
from functions.api.jobs import MAX_ERASED_RUNS
from shared.domain.access import Scope
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.keys import run_id_of
from shared.domain.run import Finish, RunStatus
from tests.unit.api.prepared import SECRET, of_owner, prepared
from tests.unit.api.test_cancelling import run_of
from tests.unit.api.world import JOB, World

PATH = "/v1/jobs/nightly-report"


def purge(world: World) -> dict[str, object]:
    reply = world.send("DELETE", PATH, query="purge=true")
    assert reply.status == 200, reply.text
    document: dict[str, object] = reply.json
    return document


def test_a_purge_leaves_nothing_of_what_the_owner_wrote() -> None:
    world = prepared()
    assert purge(world) == {
        "outcome": "cancelled_before_fire", "run_ids": [], "run_count": 0, "purge": {"erased_runs": 1, "is_done": True},
    }  # fmt: skip
    jobs, entries, runs, *_ = of_owner(world, "acme")
    assert SECRET not in str((jobs, entries, runs))
    assert runs == {}
    assert world.send("GET", PATH).json["name"] == ""


def test_a_repeated_purge_answers_the_same_and_writes_nothing() -> None:
    world = prepared()
    first = purge(world)
    before = world.contents()
    world.clock.advance(HOUR)
    assert purge(world) == {**first, "purge": {"erased_runs": 0, "is_done": True}}
    assert world.contents() == before


def test_a_job_that_was_cancelled_before_is_purged_with_the_answer_it_had() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"}, payload=SECRET)
    run = run_of(world, job, world.clock.advance(MINUTE))
    plain = world.send("DELETE", PATH).json
    purged = purge(world)
    assert (purged["outcome"], purged["run_ids"]) == (plain["outcome"], plain["run_ids"])
    assert purged["purge"] == {"erased_runs": 0, "is_done": False}
    assert SECRET not in str(world.tables.jobs)
    world.runs.finish([Finish(run.key, run.token, RunStatus.SUCCEEDED, ended_at=world.clock.advance(SECOND))])
    assert purge(world)["purge"] == {"erased_runs": 1, "is_done": True}


def test_many_runs_are_erased_by_parts() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run = run_of(world, job, world.clock.advance(MINUTE), RunStatus.SUCCEEDED)
    stored = world.tables.runs[run.key]
    for number in range(MAX_ERASED_RUNS + 9):
        slot = Instant(run.slot + number)
        world.tables.put_run(replace(stored, slot=slot, run_id=run_id_of(slot)), None)
    assert purge(world)["purge"] == {"erased_runs": MAX_ERASED_RUNS, "is_done": False}
    assert purge(world)["purge"] == {"erased_runs": 9, "is_done": True}


def test_a_job_of_the_same_id_gets_a_higher_generation_than_the_purged_one() -> None:
    world = World()
    old = world.create(schedule={"every": "PT1M"})
    purge(world)
    world.clock.step(-HOUR)
    again = world.create()
    assert again.generation > old.generation + 1
    assert again.payload == {"report": "daily"}


def test_what_was_purged_expires_within_a_day() -> None:
    world = World()
    world.create(keep_after_completion="PT0S")
    purge(world)
    world.clock.advance(DAY)
    assert world.send("GET", PATH).status == 404


@pytest.mark.parametrize("query", ["purge=maybe", "purge=true&purge=false", "purge="])
def test_a_purge_that_is_neither_is_refused(query: str) -> None:
    world = World()
    world.create()
    assert world.send("DELETE", PATH, query=query).status == 400
    assert world.job().cancellation is None


def erase(world: World, owner_id: str = "acme", **body: object) -> dict[str, object]:
    reply = world.send("POST", f"/v1/owners/{owner_id}/erase", body, key=world.mint("operators", Scope.ADMIN))
    assert reply.status == 200, reply.text
    document: dict[str, object] = reply.json
    return document


def test_an_owner_is_erased_and_its_neighbour_is_not() -> None:
    world = prepared()
    neighbour = world.mint("globex")
    world.send("POST", "/v1/jobs", JOB, key=neighbour)
    before = of_owner(world, "globex")
    # Both of the owner's keys: the one it calls with and one more.
    assert erase(world) == {"jobs": 1, "runs": 1, "keys": 2, "is_done": True, "next_cursor": None}
    jobs, entries, runs, _, receipts, grants, signing_keys = of_owner(world, "acme")
    assert SECRET not in str((jobs, entries, runs, receipts, grants, signing_keys))
    assert {str(job.state) for job in jobs.values()} == {"cancelled"}
    assert world.send("GET", "/v1/jobs", handler=world.process()).status == 401
    assert of_owner(world, "globex") == before


def test_a_large_owner_is_erased_page_by_page_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "JOBS_OF_A_CALL", 3)
    monkeypatch.setattr(owners, "RUNS_OF_A_CALL", 4)
    world = World()
    for number in range(7):
        job = world.create(job_id=f"job-{number}", payload=SECRET, schedule={"every": "PT1M"})
        for _ in range(2):
            run_of(world, job, world.clock.advance(MINUTE), RunStatus.SUCCEEDED)
    calls, cursor = 0, None
    while calls < 20:
        answer = erase(world, cursor=cursor)
        calls += 1
        cursor = answer["next_cursor"]
        if answer["is_done"]:
            break
    assert world.tables.runs == {}
    assert SECRET not in str(world.tables.jobs)
    assert 3 <= calls < 20


def test_the_last_page_says_that_all_is_done_only_when_every_page_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "JOBS_OF_A_CALL", 1)
    world = World()
    for number in range(3):
        world.create(job_id=f"job-{number}", schedule={"every": "PT1M"})
        world.clock.advance(SECOND)
    # Newest first: of the three it is the first page that has a run which lives.
    run = run_of(world, world.job("job-2"), world.clock.advance(MINUTE))
    first = erase(world)
    second = erase(world, cursor=first["next_cursor"])
    third = erase(world, cursor=second["next_cursor"])
    assert [page["is_done"] for page in (first, second, third)] == [False, False, False]
    assert third["next_cursor"] is None
    world.runs.finish([Finish(run.key, run.token, RunStatus.SUCCEEDED, ended_at=world.clock.advance(SECOND))])
    first = erase(world)
    second = erase(world, cursor=first["next_cursor"])
    assert erase(world, cursor=second["next_cursor"])["is_done"]


@pytest.mark.parametrize("cursor", ["left.", "left.x", "left.left.x", "x"])
def test_a_cursor_of_no_page_is_refused(cursor: str) -> None:
    reply = World().send("POST", "/v1/owners/acme/erase", {"cursor": cursor})
    assert (reply.status, reply.pointers) == (400, ["#/cursor"])


def test_erasing_an_owner_that_is_not_there_is_done_at_once() -> None:
    world = World()
    assert erase(world, "nobody") == {"jobs": 0, "runs": 0, "keys": 0, "is_done": True, "next_cursor": None}


def test_an_admin_who_erases_the_owner_of_its_own_key_can_still_repeat_it() -> None:
    world = prepared()
    for _ in range(2):
        assert world.send("POST", "/v1/owners/acme/erase", handler=world.process()).status == 200


def test_the_erasure_of_an_owner_is_logged_without_what_it_erased(caplog: pytest.LogCaptureFixture) -> None:
    world = prepared()
    caplog.clear()
    erase(world)
    assert [vars(record)["action"] for record in caplog.records] == ["owner.erase"]
    assert SECRET not in str([vars(record) for record in caplog.records])
