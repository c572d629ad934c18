"""What a worker tells of its runs."""

from __future__ import annotations

import pytest

from functions.worker.meter import COUNTED, PARTS, Meter
from shared.domain.instants import Instant
from shared.domain.run import Run, RunKind, RunStatus
from shared.observability.metrics import UNITS

FIRE_AT = Instant(1_800_000_000_000)


def run(kind: RunKind = RunKind.SCHEDULED, attempt: int = 1) -> Run:
    return Run(
        job_key="o/j",
        run_id="r",
        kind=kind,
        slot=FIRE_AT,
        fire_at=FIRE_AT,
        status=RunStatus.RUNNING,
        generation=1,
        attempt=attempt,
        enqueued_at=Instant(FIRE_AT - 300),
        received_at=Instant(FIRE_AT + 4),
        claimed_at=Instant(FIRE_AT + 9),
    )


def test_every_metric_has_a_unit() -> None:
    assert {*PARTS, *COUNTED} <= set(UNITS)


def test_drift_is_told_whole_and_by_its_parts() -> None:
    meter = Meter()
    meter.started(run(), Instant(FIRE_AT + 12))

    assert meter.take({}) == {
        "drift": [12],
        "drift_dispatch": [0],
        "drift_queue": [4],
        "drift_claim": [5],
        "drift_start": [3],
    }
    assert meter.take({}) == {}


@pytest.mark.parametrize(
    "late_by_design", [run(RunKind.CATCH_UP), run(RunKind.MANUAL), run(RunKind.BACKFILL), run(attempt=2)]
)
def test_what_is_late_by_design_is_no_drift(late_by_design: Run) -> None:
    meter = Meter()
    meter.started(late_by_design, Instant(FIRE_AT + 3_600_000))

    assert meter.take({}) == {}


def test_counts_are_told_as_what_was_added_since_the_last_time() -> None:
    meter = Meter()

    assert meter.take({"started": 3, "duplicate": 1}) == {"started": 3, "duplicates": 1}
    assert meter.take({"started": 3, "duplicate": 1}) == {}
    assert meter.take({"started": 5, "duplicate": 1, RunStatus.SUCCEEDED: 2}) == {"started": 2, "succeeded": 2}
