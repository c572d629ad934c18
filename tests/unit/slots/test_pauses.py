"""What a pause does to the slots of a job, seen by the target."""

from __future__ import annotations

import pytest

from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.job import JobState
from shared.domain.schedules import fire_at, next_slot
from tests.unit.slots.whole import PATH, Whole, after, whole


def change(rig: Whole, how: str) -> None:
    if how == "patch":
        rig.send("PATCH", PATH, {"misfire": {"policy": "skip"}})
        return
    rig.send("POST", f"{PATH}/pause")
    rig.run(2)
    rig.send("POST", f"{PATH}/resume")


@pytest.mark.parametrize("how", ["patch", "pause"])
@pytest.mark.parametrize("kind", ["at", "every"])
def test_a_slot_that_waits_for_its_jitter_survives_a_change(how: str, kind: str) -> None:
    rig = whole()
    at = after(rig, 10 * SECOND)
    schedule = {"at": at} if kind == "at" else {"every": "P1D", "anchor": at}
    job = rig.create(schedule={**schedule, "window": "PT1H"})
    slot = next_slot(job.schedule, rig.clock.now())
    assert slot is not None
    due = fire_at(job.schedule, job.job_key, slot)
    rig.run_until(slot + 2 * SECOND)

    change(rig, how)

    rig.skip_to(due)
    rig.run(5)
    assert [(each.slot, each.at - due < 2 * SECOND) for each in rig.started] == [(slot, True)]


def test_a_slot_that_is_due_in_a_pause_does_not_fire_after_it_and_a_row_says_so() -> None:
    rig = whole()
    job = rig.create(schedule={"at": after(rig, 10 * SECOND), "window": "PT1M"})
    slot = next_slot(job.schedule, rig.clock.now())
    assert slot is not None
    rig.run_until(slot + 500)
    rig.send("POST", f"{PATH}/pause")
    rig.run_until(fire_at(job.schedule, job.job_key, slot) + SECOND)

    assert rig.send("POST", f"{PATH}/resume").json["state"] == "completed"

    rig.run(70)
    assert rig.started == []
    assert [row[1:] for row in rig.rows] == [("skipped", "paused")]


def test_a_one_time_job_that_is_resumed_past_its_time_leaves_a_row() -> None:
    rig = whole()
    rig.create(schedule={"at": after(rig, 10 * SECOND)}, state="paused")
    rig.run(20)
    assert rig.send("POST", f"{PATH}/resume").json["state"] == "completed"

    [run] = rig.send("GET", f"{PATH}/runs").json["items"]

    assert (run["status"], run["reason"], run["run_id"]) == ("skipped", "paused", "20261127T000010000Z")
    assert rig.send("GET", f"{PATH}/explain").json["reason"] == "paused"


def test_one_row_stands_for_all_slots_of_a_pause() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT10S", "anchor": after(rig, 0)})
    rig.run(15)
    rig.send("POST", f"{PATH}/pause")
    rig.run(30)
    rig.send("POST", f"{PATH}/resume")
    rig.run(20)

    gaps = [run["gap"] for run in rig.send("GET", f"{PATH}/runs").json["items"] if "gap" in run]

    assert gaps == [{"first": "2026-11-27T00:00:20.000Z", "last": "2026-11-27T00:00:40.000Z", "count": 3}]
    assert [slot % MINUTE // SECOND for slot in rig.slots] == [0, 10, 50, 0]


def test_a_slot_of_the_pause_whose_message_comes_late_does_not_start() -> None:
    """It was sent in the second in which the owner had not heard of the pause."""
    rig = whole()
    rig.create(schedule={"every": "PT1S"})
    rig.run(5)
    rig.is_worked = False
    rig.run(0.05)
    paused_at = rig.clock.now()
    rig.send("POST", f"{PATH}/pause")
    rig.run(60)
    resumed_at = rig.clock.now()
    rig.send("POST", f"{PATH}/resume")

    rig.is_worked = True
    rig.run(5)

    assert [slot for slot in rig.slots if paused_at <= slot < resumed_at] == []
    assert len([slot for slot in rig.slots if slot >= resumed_at]) == 5


@pytest.mark.parametrize("off_ms", [-45 * SECOND, 45 * SECOND])
def test_a_host_whose_clock_is_wrong_resumes_when_it_does(off_ms: int) -> None:
    rig = whole()
    rig.create(schedule={"every": "PT5S", "anchor": after(rig, 0)})
    rig.run(12)
    paused_at = rig.clock.now()
    rig.send("POST", f"{PATH}/pause")
    rig.run(61)
    resumed_at = rig.clock.now()

    rig.send("POST", f"{PATH}/resume", off_ms=off_ms)

    rig.run(20)
    assert [slot for slot in rig.slots if paused_at <= slot < resumed_at] == []
    later = [slot for slot in rig.slots if slot >= resumed_at]
    assert later
    assert later[0] <= resumed_at + 10 * SECOND


def test_a_pause_stops_the_schedule_and_not_a_person() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT10S", "anchor": after(rig, 0)})
    rig.run(15)
    rig.send("POST", f"{PATH}/runs", {"payload": "planned"})
    rig.send("POST", f"{PATH}/pause")
    rig.run(30)
    rig.send("POST", f"{PATH}/runs", {"payload": "asked for"})
    span = {"from": "2026-11-27T00:00:20Z", "to": "2026-11-27T00:00:31Z"}
    assert rig.send("POST", f"{PATH}/backfills", span).json["planned"] == 2

    rig.run(3)

    assert [each.payload for each in rig.started if each.at > Instant(rig.started[0].at + 14 * SECOND)][:1] == [
        "planned"
    ]
    assert [each.payload for each in rig.started].count("asked for") == 1
    assert {slot % MINUTE // SECOND for slot in rig.slots} >= {20, 30}
    assert rig.job.state is JobState.PAUSED


def test_a_pause_is_not_over_before_it_began_by_the_clock_that_wrote_it() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT1S", "anchor": after(rig, 0)})
    rig.run(5.5)
    paused_at = rig.clock.now()
    rig.send("POST", f"{PATH}/pause", off_ms=45 * SECOND)
    began_at = rig.job.paused_at
    assert began_at == paused_at + 6 * SECOND
    rig.run(1)
    rig.send("POST", f"{PATH}/resume")

    rig.run(10)

    assert [slot for slot in rig.slots if paused_at <= slot < began_at] == []
    assert len([slot for slot in rig.slots if slot >= began_at]) == 5
