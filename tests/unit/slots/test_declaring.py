"""What stays of a schedule that is declared again, or changed."""

from __future__ import annotations

from typing import Any

import pytest

from shared.domain.instants import HOUR, MINUTE
from shared.domain.job import JobState
from tests.unit.api.world import HTTP
from tests.unit.slots.whole import PATH, Whole, after, whole


def test_a_number_of_runs_is_kept_over_a_change_of_the_window() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT5S", "max_runs": 4})
    rig.run(17)
    assert len(rig.started) == 3

    rig.send("PATCH", PATH, {"schedule": {"window": "PT1S"}})

    rig.run(60)
    assert len(rig.started) == 4
    assert rig.job.state is JobState.COMPLETED


def test_a_number_of_runs_counts_what_the_schedule_had_planned_before() -> None:
    rig = whole()
    rig.create(schedule={"cron": "*/5 * * * * *", "seconds": True, "max_runs": 6})
    rig.run(12)
    assert len(rig.started) == 3
    rig.send("PATCH", PATH, {"schedule": {"cron": "*/2 * * * * *"}})
    rig.run(30)
    assert len(rig.started) == 6


def test_a_number_of_runs_that_is_used_up_is_refused_by_name() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT5S", "max_runs": 4})
    rig.run(17)
    reply = rig.api.send("PATCH", PATH, {"schedule": {"max_runs": 3}})
    assert (reply.status, reply.pointers) == (400, ["#/schedule/max_runs"])
    assert "3 runs are planned by now" in reply.text


def test_declaring_what_is_declared_changes_nothing_whatever_happened_between() -> None:
    rig = whole()
    first = {"target": HTTP, "schedule": {"every": "PT9S", "max_runs": 9}}
    second = {"target": HTTP, "schedule": {"every": "PT2S", "max_runs": 5}}
    rig.send("PUT", PATH, first)
    rig.run(3)
    rig.send("PUT", PATH, second)
    rig.run(5)
    for word in ("pause", "resume"):
        rig.send("POST", f"{PATH}/{word}")
        rig.run(1.5)
    rig.send("PATCH", PATH, {"lane": "long"})
    rig.send("PATCH", PATH, {"lane": "default"})
    before = rig.api.contents()

    rig.send("PUT", PATH, second)
    rig.send("PATCH", PATH, {"schedule": {"every": "PT2S"}})

    assert rig.api.contents() == before


@pytest.mark.parametrize(
    "schedule",
    [
        {"every": "PT7M", "max_runs": 30},
        {"every": "PT7M", "start_at": "2026-11-27T02:00:00Z"},
        {"cron": "*/5 * * * *", "max_runs": 40, "timezone": "Europe/Berlin"},
        {"cron": "rate(5 minutes)", "max_runs": 70},
        {"at": "2026-11-27T09:00:00", "timezone": "Europe/Berlin"},
    ],
)
def test_declaring_a_job_as_it_is_shown_changes_nothing(schedule: dict[str, Any]) -> None:
    rig = Whole()
    rig.create(schedule=schedule)
    rig.clock.advance(HOUR)
    rig.send("PATCH", PATH, {"schedule": {"window": "PT1S"}})
    rig.clock.advance(MINUTE)
    shown = rig.send("GET", PATH).json
    members = ("schedule", "target", "payload", "misfire", "retry", "lane", "timeout", "overlap")
    before = rig.api.contents()

    rig.send("PUT", PATH, {name: shown[name] for name in members})

    assert rig.api.contents() == before


def test_an_interval_without_an_anchor_counts_from_its_start() -> None:
    rig = whole()
    rig.create(schedule={"every": "PT1H", "start_at": after(rig, 2 * HOUR + 6 * MINUTE)})
    shown = rig.send("GET", PATH).json
    assert shown["next_slots"][:2] == ["2026-11-27T02:06:00.000Z", "2026-11-27T03:06:00.000Z"]
    rig.send("PATCH", PATH, {"schedule": {"start_at": after(rig, 3 * HOUR + MINUTE)}})
    assert rig.send("GET", PATH).json["next_slots"][0] == "2026-11-27T03:01:00.000Z"
