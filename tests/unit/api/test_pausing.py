from __future__ import annotations

import pytest

from shared.domain.instants import HOUR, SECOND, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.ports import Completion
from tests.unit.api.world import World

PATH = "/v1/jobs/nightly-report"


def test_pause_leaves_a_tombstone_and_resume_starts_from_now() -> None:
    world = World()
    world.create(schedule={"every": "PT1M"})
    paused_at = world.clock.advance(90 * SECOND)
    paused = world.send("POST", f"{PATH}/pause")
    assert (paused.status, paused.json["state"], paused.json["next_slots"]) == (200, "paused", [])
    assert world.entry().is_tombstone
    assert world.entry().next_at == paused_at
    world.clock.advance(10 * HOUR)
    resumed = world.send("POST", f"{PATH}/resume")
    assert (resumed.json["state"], resumed.json["next_slots"][0]) == ("active", "2026-11-27T10:02:00.000Z")
    assert world.job().from_at == world.clock.now()
    assert world.entry().schedule == world.job().schedule


@pytest.mark.parametrize("word", ["pause", "resume"])
def test_pausing_or_resuming_twice_is_once(word: str) -> None:
    world = World()
    world.create(state="active" if word == "pause" else "paused")
    first = world.send("POST", f"{PATH}/{word}")
    before = world.contents()
    world.clock.advance(HOUR)
    again = world.send("POST", f"{PATH}/{word}")
    assert (again.status, again.headers["etag"]) == (200, first.headers["etag"])
    assert world.contents() == before


def test_a_one_time_job_whose_time_passed_while_it_was_paused_is_completed_by_resume() -> None:
    world = World()
    world.create(schedule={"in": "PT5S"}, state="paused", keep_after_completion="PT1H")
    now = world.clock.advance(HOUR)
    reply = world.send("POST", f"{PATH}/resume")
    assert reply.json["state"] == "completed"
    assert world.entry().is_tombstone
    assert world.job().expires_at == now + HOUR


def test_a_one_time_job_that_is_resumed_in_time_fires_at_its_time() -> None:
    world = World()
    world.create(schedule={"in": "PT5S"}, state="paused")
    now = world.clock.advance(5 * SECOND)
    assert world.send("POST", f"{PATH}/resume").json["state"] == "active"
    assert (world.entry().slot, world.entry().is_single) == (now, True)


@pytest.mark.parametrize("word", ["pause", "resume"])
def test_a_cancelled_job_changes_no_more(word: str) -> None:
    world = World()
    world.create()
    world.send("DELETE", PATH)
    before = world.contents()
    assert world.send("POST", f"{PATH}/{word}").status == 409
    assert world.send("PATCH", PATH, {"name": "x"}).status == 409
    assert world.contents() == before


def test_a_completed_job_keeps_its_state_for_a_change() -> None:
    world = World()
    job = world.create(schedule={"in": "PT5S"})
    world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + HOUR))])
    reply = world.send("POST", f"{PATH}/resume")
    assert reply.status == 409
    assert "completed" in reply.json["detail"]
    assert world.job().state is JobState.COMPLETED
    assert to_rfc3339(world.job().updated_at) == "2026-11-27T00:00:00.000Z"
