"""Two jobs of one id, one after the other: neither runs what is of the other."""

from __future__ import annotations

import pytest

from shared.domain.instants import SECOND
from shared.domain.job import JobState
from tests.unit.api.world import HTTP
from tests.unit.slots.whole import PATH, after, whole


@pytest.mark.parametrize("ahead_ms", [0, 3 * SECOND, 45 * SECOND])
def test_what_was_sent_for_a_deleted_job_does_not_run_the_next_one_of_its_id(ahead_ms: int) -> None:
    rig = whole()
    rig.is_worked = False
    old = {"job_id": "j", "schedule": {"at": after(rig, 2 * SECOND)}, "target": HTTP, "payload": "old"}
    rig.send("POST", "/v1/jobs", old, off_ms=ahead_ms)
    rig.run(2.5)
    assert rig.send("DELETE", PATH).json["outcome"] == "cancelled_before_fire"
    rig.run(0.5)
    new = {**old, "schedule": {"every": "P1D", "anchor": after(rig, 2 * SECOND)}, "payload": "new"}
    rig.send("POST", "/v1/jobs", new)

    rig.is_worked = True
    rig.run(5)

    assert [(each.payload, each.slot) for each in rig.started] == [("new", rig.started[0].slot)]


@pytest.mark.parametrize("off_ms", [0, -45 * SECOND])
def test_a_new_job_does_not_claim_the_runs_of_an_earlier_one_of_its_id(off_ms: int) -> None:
    """By a slow clock its first slots have run already, under the earlier job."""
    rig = whole()
    every = {"every": "PT10S", "anchor": after(rig, 0)}
    rig.create(schedule=every)
    rig.run(65)
    rig.send("DELETE", PATH)
    before = len(rig.started)

    rig.send("POST", "/v1/jobs", {"job_id": "j", "target": HTTP, "schedule": {**every, "max_runs": 2}}, off_ms=off_ms)

    rig.run(30)
    assert len(rig.started) == before + 2
    assert rig.slots == sorted(set(rig.slots))
    assert rig.job.state is JobState.COMPLETED


def test_an_instant_that_an_earlier_job_of_the_id_has_run_is_refused() -> None:
    rig = whole()
    body = {"job_id": "j", "target": HTTP, "schedule": {"at": after(rig, 5 * SECOND)}}
    rig.send("POST", "/v1/jobs", body)
    rig.run(10)
    rig.send("DELETE", PATH)

    for method, path in (("POST", "/v1/jobs"), ("PUT", PATH)):
        reply = rig.api.send(method, path, body)
        assert (reply.status, reply.pointers) == (400, ["#/schedule/at"])
        assert "has a run of 2026-11-27T00:00:05.000Z already, which is succeeded" in reply.text

    other = {**body, "schedule": {"at": after(rig, SECOND)}}
    rig.send("PUT", PATH, other)
    rig.run(5)
    assert len(rig.started) == 2


def test_a_job_is_not_moved_to_an_instant_of_which_its_id_has_a_run() -> None:
    rig = whole()
    schedule = {"at": after(rig, 5 * SECOND)}
    rig.send("POST", "/v1/jobs", {"job_id": "j", "target": HTTP, "schedule": schedule})
    rig.run(10)
    rig.send("DELETE", PATH)
    body = {"job_id": "j", "target": HTTP, "schedule": {"every": "PT1H"}}
    rig.send("POST", "/v1/jobs", body)
    before = rig.job

    for method, change in (("PATCH", {"schedule": schedule}), ("PUT", {**body, "schedule": schedule})):
        reply = rig.api.send(method, PATH, change)
        assert (reply.status, reply.pointers) == (400, ["#/schedule/at"])
    assert rig.job == before


def test_an_instant_that_an_earlier_job_of_the_id_did_not_run_is_free() -> None:
    rig = whole()
    rig.is_worked = False
    body = {"job_id": "j", "target": HTTP, "schedule": {"at": after(rig, 5 * SECOND)}}
    rig.send("POST", "/v1/jobs", body)
    rig.run(10)
    assert rig.send("DELETE", PATH).json["outcome"] == "cancelled_before_fire"
    rig.send("POST", "/v1/jobs", body)

    rig.is_worked = True
    rig.run(40)

    assert len(rig.started) == 1
    assert rig.job.state is JobState.COMPLETED
