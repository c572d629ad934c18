"""The stores, driven on scratch tables, and what each answer must be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from infra.prove.findings import Finding, Verdict
from infra.prove.recording import Recorder, RecordingCalls
from infra.prove.scratch import Scratch
from shared.adapters.dynamodb import (
    DynamoAccessStore,
    DynamoEntryStore,
    DynamoFleetStore,
    DynamoJobStore,
    DynamoRunStore,
)
from shared.adapters.system import SystemClock, SystemRandomness
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.instants import DAY, MINUTE, Instant
from shared.domain.job import Job
from shared.domain.keys import announced_id, schedule_name
from shared.domain.schedules import Every
from shared.ports import Clock

#: An index follows its table within a second, as a rule.
_INDEX_SECONDS = 30.0
_LOOK_SECONDS = 0.5
OWNER = "proof"


class Unexpected(Exception):
    """The table answered otherwise than the stores rest on."""

    def __init__(self, what: str, got: object, wanted: object) -> None:
        super().__init__(f"{what}: expected {wanted!r}, got {got!r}")


@dataclass(frozen=True)
class Bench:
    """The stores over scratch tables. `now` is the instant of everything that they write."""

    clock: Clock
    now: Instant
    jobs: DynamoJobStore
    entries: DynamoEntryStore
    runs: DynamoRunStore
    fleet: DynamoFleetStore
    access: DynamoAccessStore

    def expect(self, what: str, got: object, wanted: object) -> None:
        if got != wanted:
            raise Unexpected(what, got, wanted)

    def expect_soon(self, what: str, look: Callable[[], object], wanted: object) -> None:
        """Of what is read through a global index, which comes late."""
        until = self.clock.monotonic() + _INDEX_SECONDS
        while (got := look()) != wanted and self.clock.monotonic() < until:
            self.clock.sleep(_LOOK_SECONDS)
        self.expect(what, got, wanted)

    def later(self, milliseconds: int) -> Instant:
        return Instant(self.now + milliseconds)


@dataclass(frozen=True, slots=True)
class Exercise:
    """`shows` are the shapes (`shapes.Shapes.names`) that this one sends."""

    name: str
    run: Callable[[Bench], None]
    shows: frozenset[str]


def exercise(name: str, run: Callable[[Bench], None], shows: str) -> Exercise:
    return Exercise(name, run, frozenset(shows.split()))


def bench_over(scratch: Scratch, recorder: Recorder) -> Bench:
    clock = SystemClock()
    calls = RecordingCalls(clock, SystemRandomness())
    calls.recorder = recorder
    recorder.watch(scratch.dynamodb)
    of: tuple[Any, ...] = (scratch.dynamodb, scratch.tables, calls)
    return Bench(
        clock,
        clock.now(),
        DynamoJobStore(*of),
        # Small pages, so that they are turned.
        DynamoEntryStore(*of, page_size=1),
        DynamoRunStore(*of),
        DynamoFleetStore(*of),
        DynamoAccessStore(*of),
    )


def run_all(bench: Bench, exercises: Iterable[Exercise]) -> list[Finding]:
    """One that fails hurts no other."""
    return [_run(bench, each) for each in exercises]


def _run(bench: Bench, each: Exercise) -> Finding:
    try:
        each.run(bench)
    except Exception as failure:  # noqa: BLE001 (whatever it is, it is what this exercise found)
        return Finding("tables", each.name, Verdict.FAILED, f"{type(failure).__name__}: {failure}")
    return Finding("tables", each.name, Verdict.PASSED, "every answer was as the stores expect it")


# values -------------------------------------------------------------------------------------------------------------


def job_of(bench: Bench, job_id: str, **changes: Any) -> Job:
    job = Job(
        owner_id=OWNER,
        job_id=job_id,
        schedule=Every(interval_ms=MINUTE, anchor=bench.now),
        target={"type": "handler", "name": "echo"},
        generation=bench.now,
        from_at=bench.now,
        created_at=bench.now,
        updated_at=bench.now,
        created_by="proof",
        updated_by="proof",
        entry_at=bench.now,
    )
    return replace(job, **changes)


def entry_of(job: Job, *, shard: int = 1) -> Entry:
    assert job.entry_at is not None
    return Entry(
        shard=shard,
        entry_id=announced_id(job.entry_at, schedule_name(job.job_key, job.generation)),
        job_key=job.job_key,
        generation=job.generation,
        next_at=job.entry_at,
        from_at=job.from_at,
        schedule=job.schedule,
        fresh=True,
    )


def receipt_of(bench: Bench, key: str, **changes: Any) -> Receipt:
    receipt = Receipt(
        owner_id=OWNER,
        idempotency_key=key,
        fingerprint="f" * 64,
        at=bench.now,
        job_id="",
        generation=0,
        revision=0,
        access_id="proof",
        expires_at=bench.later(DAY),
    )
    return replace(receipt, **changes)
