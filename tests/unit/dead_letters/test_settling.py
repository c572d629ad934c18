"""What becomes of messages that a lane's queue gave up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from functions.dead_letters.handler import settle_all
from functions.dead_letters.settling import UNDELIVERED, Settings, Settler
from shared.adapters.memory import (
    ManualClock,
    MemoryDeadLetterQueue,
    MemoryDueQueue,
    MemoryEventBus,
    MemoryJobStore,
    MemoryRunStore,
    MemoryTables,
    SeededRandomness,
)
from shared.domain.errors import StoreThrottled
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import run_id_of
from shared.domain.message import Dispatch, encode
from shared.domain.run import Run, RunError, RunKind, RunStatus
from shared.domain.schedules import At, Every
from shared.observability.announcing import Announcements
from shared.ports import DeadLetter

LANES = {"lane-default-1": "default", "lane-long-2": "long"}


@dataclass
class Cellar:
    clock: ManualClock = field(default_factory=ManualClock)
    tables: MemoryTables = field(default_factory=MemoryTables)
    letters: MemoryDeadLetterQueue = field(default_factory=MemoryDeadLetterQueue)
    long_letters: MemoryDeadLetterQueue = field(default_factory=MemoryDeadLetterQueue)

    def __post_init__(self) -> None:
        self.queue = MemoryDueQueue(self.clock)
        self.run_store = MemoryRunStore(self.tables)
        self.bus = MemoryEventBus()
        self.announcements = Announcements(self.bus)
        now = self.clock.now()
        self.job = Job(
            owner_id="acme",
            job_id="job",
            schedule=At(instant=now),
            target={},
            generation=now,
            from_at=now,
            created_at=now,
            updated_at=now,
            created_by="k",
            updated_by="k",
        )
        self.tables.jobs[self.job.job_key] = self.job
        self.dispatch = Dispatch(
            job_key=self.job.job_key,
            generation=now,
            slot=now,
            fire_at=now,
            run_id=run_id_of(now),
            shard=0,
            epoch=1,
            enqueued_at=now,
        )

    def settler(self, **changes: Any) -> Settler:
        given: dict[str, Any] = {
            "undelivered": self.queue,
            "dead_letters": {"default": self.letters, "long": self.long_letters},
            "run_store": self.run_store,
            "job_store": MemoryJobStore(self.tables),
            "clock": self.clock,
            "randomness": SeededRandomness(),
            "settings": Settings(),
            "announcements": self.announcements,
        }
        return Settler(**given | changes)

    def put(self, status: RunStatus, **changes: Any) -> Run:
        run = Run(
            job_key=self.dispatch.job_key,
            run_id=self.dispatch.run_id,
            kind=RunKind.SCHEDULED,
            slot=self.dispatch.slot,
            fire_at=self.dispatch.fire_at,
            status=status,
            generation=self.dispatch.generation,
            claim_id="theirs",
            worker_id="w",
            lease_until=self.clock.now(),
            claimed_at=self.clock.now(),
        )
        run = replace(run, **changes)
        self.tables.put_run(run, run.lease_until)
        return run

    def settle(self, body: str | None = None, **changes: Any) -> bool:
        """Whether the message is done with."""
        self.queue.send_body(encode(self.dispatch) if body is None else body)
        [delivery] = self.queue.receive(limit=1, wait_seconds=0, visibility_seconds=180)
        return self.settler(**changes).settle(delivery, lane="default")

    def told(self) -> list[str]:
        self.announcements.publish_once()
        return [event.type.value for event in self.bus.events]

    @property
    def run(self) -> Run:
        return self.tables.runs[self.dispatch.key]


@pytest.fixture
def cellar() -> Cellar:
    return Cellar()


def test_a_run_that_nobody_ever_claimed_fails_and_completes_its_job(cellar: Cellar) -> None:
    assert cellar.settle()

    assert (cellar.run.status, cellar.run.error and cellar.run.error.type) == (RunStatus.FAILED, UNDELIVERED)
    assert cellar.run.expires_at is not None
    assert cellar.tables.jobs[cellar.job.job_key].state is JobState.COMPLETED
    [letter] = cellar.letters.letters
    assert (letter.body, letter.cause) == (encode(cellar.dispatch), UNDELIVERED)


def test_a_run_that_fails_completes_the_job_whose_last_slot_was_left_out_for_it(cellar: Cellar) -> None:
    first = cellar.dispatch.slot
    last = Instant(first + MINUTE)
    schedule = Every(interval_ms=MINUTE, anchor=first, end_at=Instant(last + 1))
    cellar.job = replace(cellar.job, schedule=schedule, overlap="skip")
    cellar.tables.jobs[cellar.job.job_key] = cellar.job
    run = cellar.put(RunStatus.WAITING, token=4)
    left_out = replace(run, run_id=run_id_of(last), slot=last, status=RunStatus.SKIPPED, reason="overlap")
    cellar.tables.put_run(left_out, None)
    cellar.clock.advance(2 * MINUTE + Settings().clock_bound_ms)

    assert cellar.settle()

    assert cellar.run.status is RunStatus.FAILED
    assert cellar.tables.jobs[cellar.job.job_key].state is JobState.COMPLETED


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.WAITING])
def test_a_run_that_is_alive_is_left_alone_and_looked_at_later(cellar: Cellar, status: RunStatus) -> None:
    run = cellar.put(status, lease_until=Instant(cellar.clock.now() + 10 * SECOND))

    assert not cellar.settle()

    assert cellar.run == run
    assert cellar.letters.letters == []
    cellar.clock.advance(90 * SECOND)
    assert cellar.queue.receive(limit=1, wait_seconds=0, visibility_seconds=1) == []
    cellar.clock.advance(11 * SECOND)
    assert len(cellar.queue.receive(limit=1, wait_seconds=0, visibility_seconds=1)) == 1


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.WAITING])
def test_a_run_that_nobody_has_any_more_is_taken_over_and_fails(cellar: Cellar, status: RunStatus) -> None:
    cellar.put(status, token=4, attempt=2)
    cellar.clock.advance(Settings().clock_bound_ms + 1)

    assert cellar.settle()

    assert (cellar.run.status, cellar.run.token, cellar.run.attempt) == (RunStatus.FAILED, 5, 2)
    assert [attempt.error and attempt.error.type for attempt in cellar.run.attempts] == (
        ["lost"] if status is RunStatus.RUNNING else []
    )
    assert len(cellar.letters.letters) == 1


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.SKIPPED, RunStatus.CANCELLED])
def test_the_message_of_a_run_that_has_ended_was_a_duplicate(cellar: Cellar, status: RunStatus) -> None:
    run = cellar.put(status, ended_at=cellar.clock.now())

    assert cellar.settle()

    assert cellar.run == run
    assert cellar.letters.letters == []


def test_a_run_whose_end_was_asked_for_is_cancelled(cellar: Cellar) -> None:
    cellar.put(RunStatus.RUNNING, cancel_requested_at=cellar.clock.now())
    cellar.clock.advance(Settings().clock_bound_ms + 1)

    assert cellar.settle()

    assert cellar.run.status is RunStatus.CANCELLED
    assert cellar.letters.letters == []


def test_a_run_that_a_worker_takes_meanwhile_is_left_to_it(cellar: Cellar) -> None:
    seen = cellar.put(RunStatus.RUNNING)
    cellar.clock.advance(Settings().clock_bound_ms + 1)

    class TakenFirst(MemoryRunStore):
        def take_over(self, run: Run, *, seen: Run) -> Run | None:
            alive = replace(seen, token=seen.token + 1, claim_id="worker", lease_until=Instant(cellar.clock.now()))
            super().take_over(alive, seen=seen)
            return super().take_over(run, seen=seen)

    assert not cellar.settle(run_store=TakenFirst(cellar.tables))
    assert (cellar.run.status, cellar.run.claim_id) == (RunStatus.RUNNING, "worker")
    assert cellar.run.token == seen.token + 1


def test_what_nobody_can_read_goes_to_the_dead_letters(cellar: Cellar) -> None:
    assert cellar.settle("gibberish")

    assert [(letter.body, letter.cause) for letter in cellar.letters.letters] == [("gibberish", "unreadable")]
    assert cellar.tables.runs == {}


def test_a_copy_that_could_not_be_left_is_left_the_next_time(cellar: Cellar) -> None:
    class Refusing:
        def send(self, letters: Sequence[DeadLetter]) -> None:
            raise StoreThrottled("send", f"too fast for {len(letters)}")

    with pytest.raises(StoreThrottled):
        cellar.settle(dead_letters={"default": Refusing()})
    assert cellar.settle()

    assert cellar.run.status is RunStatus.FAILED
    assert len(cellar.letters.letters) == 1


def record(message_id: str, body: str, **attributes: str) -> dict[str, Any]:
    return {"messageId": message_id, "receiptHandle": message_id, "body": body, "attributes": attributes}


def test_a_batch_answers_what_is_not_done_with_and_knows_the_lane_of_each(cellar: Cellar) -> None:
    """B47."""
    cellar.put(RunStatus.RUNNING, lease_until=Instant(cellar.clock.now() + MINUTE))
    other = replace(cellar.dispatch, run_id="20261127T000000001Z")
    source = "arn:aws:sqs:eu-west-1:000000000000:lane-long-2"
    event = {
        "Records": [
            record("1", encode(cellar.dispatch)),
            record("2", encode(other), DeadLetterQueueSourceArn=source),
            record("3", "gibberish"),
        ]
    }

    assert settle_all(cellar.settler(), LANES, event) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert [letter.cause for letter in cellar.letters.letters] == ["unreadable"]
    assert [letter.body for letter in cellar.long_letters.letters] == [encode(other)]


def test_a_run_that_failed_before_is_told_with_its_own_error(cellar: Cellar) -> None:
    cellar.put(RunStatus.FAILED, ended_at=cellar.clock.now(), error=RunError("http_5xx", "m"))

    assert cellar.settle()

    assert cellar.run.error == RunError("http_5xx", "m")


def test_a_run_that_ends_here_is_told_and_so_is_the_job_that_it_completes(cellar: Cellar) -> None:
    assert cellar.settle()

    assert cellar.told() == ["run.failed", "job.completed"]
    assert cellar.bus.events[0].detail["error_type"] == UNDELIVERED


@pytest.mark.parametrize(("is_cancelled", "told"), [(False, "run.failed"), (True, "run.cancelled")])
def test_a_run_that_is_taken_over_is_told_as_it_is_stored(cellar: Cellar, told: str, *, is_cancelled: bool) -> None:
    cellar.put(RunStatus.RUNNING, token=4, cancel_requested_at=cellar.clock.now() if is_cancelled else None)
    cellar.clock.advance(Settings().clock_bound_ms + 1)
    assert cellar.settle()

    assert cellar.told() == [told, "job.completed"]
    assert cellar.bus.events[0].detail["fencing_token"] == 5


def test_of_a_run_that_lives_or_ended_elsewhere_nothing_is_told(cellar: Cellar) -> None:
    cellar.tables.jobs.clear()
    cellar.put(RunStatus.RUNNING, lease_until=Instant(cellar.clock.now() + MINUTE))
    assert not cellar.settle()
    cellar.put(RunStatus.SUCCEEDED, ended_at=cellar.clock.now())
    cellar.clock.advance(10 * MINUTE)
    cellar.settle()

    assert cellar.told() == []
