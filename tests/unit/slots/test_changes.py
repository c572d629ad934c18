"""What a change of a job does to its slots, seen by the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.instants import DAY, MINUTE, SECOND
from shared.domain.job import JobState
from shared.domain.run import RunStatus, may_be_fired_anew
from tests.unit.slots.whole import PATH, Whole, after, whole

NO_MOVES: list[dict[str, Any]] = [
    {"misfire": {"policy": "fire_all", "limit": 100}},
    {"lane": "long"},
    {"timeout": "PT20M"},
    {"schedule": {"window": "PT5S"}},
    {"schedule": {"exclude": [{"date": "2030-01-01", "reason": "holiday"}]}},
]


@pytest.mark.parametrize("patch", NO_MOVES)
def test_a_change_that_moves_no_slot_drops_no_slot_that_is_owed(patch: dict[str, Any]) -> None:
    """No node runs, so that all slots since the creation are owed."""
    rig = Whole()
    rig.create(schedule={"every": "PT10S", "anchor": after(rig, 10 * SECOND)}, misfire={"grace": None})
    rig.run(55)

    rig.send("PATCH", PATH, patch)

    rig.node()
    rig.run(2)
    assert sorted(slot % MINUTE // SECOND for slot in rig.slots) == [10, 20, 30, 40, 50]


def test_what_is_settled_is_not_owed_again_by_a_change() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT10S", "anchor": after(rig, 0)})
    rig.run(65)
    before = rig.job

    rig.send("PATCH", PATH, {"lane": "long"})

    assert rig.job.from_at >= before.from_at + 55 * SECOND
    rig.run(20)
    assert rig.slots == sorted(set(rig.slots))


def test_what_found_no_place_is_not_sent_again_by_a_change() -> None:
    """The change may not know yet that the slot is settled."""
    rig = whole()
    rig.create(schedule={"every": "PT10S", "anchor": after(rig, 0)})
    rig.run(5)
    key = next(iter(rig.api.tables.runs))
    run = rig.api.tables.runs[key]
    left_out = replace(run, status=RunStatus.SKIPPED, reason="overlap")
    assert not may_be_fired_anew(left_out, run.generation + 1)
    assert may_be_fired_anew(replace(left_out, reason="paused"), run.generation + 1)
    assert not may_be_fired_anew(replace(left_out, reason="paused"), run.generation)


def test_a_schedule_that_moves_its_slots_counts_from_the_change() -> None:
    rig = Whole()
    rig.create(schedule={"every": "PT10S", "anchor": after(rig, 10 * SECOND)}, misfire={"grace": None})
    rig.run(55)
    changed_at = rig.clock.now()

    rig.send("PATCH", PATH, {"schedule": {"every": "PT7S"}})

    rig.node()
    rig.run(15)
    assert rig.slots
    assert min(rig.slots) >= changed_at


def test_the_slots_of_another_schedule_count_from_now_though_a_clock_that_was_ahead_made_the_job() -> None:
    rig = whole()
    rig.clock.step(45 * SECOND)
    rig.create(schedule={"every": "PT1H"})
    rig.clock.step(-45 * SECOND)
    now = rig.clock.now()
    assert rig.job.from_at > now

    rig.send("PATCH", PATH, {"schedule": {"every": "PT10S"}})

    assert rig.job.from_at == now


@pytest.mark.parametrize("patch", [{"misfire": {"policy": "skip"}}, {"lane": "long"}, {"schedule": {"max_runs": 2}}])
def test_a_job_that_is_changed_while_its_last_run_runs_completes(patch: dict[str, Any]) -> None:
    rig = whole()
    rig.create(schedule={"every": "PT10S", "max_runs": 2})
    rig.run(15)

    def change_it() -> None:
        rig.clock.advance(2 * SECOND)
        rig.send("PATCH", PATH, patch)

    rig.meanwhile = change_it
    rig.run(10)

    assert len(rig.started) == 2
    assert rig.job.state is JobState.COMPLETED


def test_a_day_of_seconds_is_not_gone_through_by_a_change() -> None:
    rig = Whole()
    rig.create(schedule={"every": "PT1S", "window": "P1D"})
    rig.clock.advance(DAY)
    rig.send("PATCH", PATH, {"misfire": {"policy": "skip"}})
    assert rig.job.generation > rig.job.created_at
