"""Failed attempts: what waits, how its message is kept, and what is given up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.worker.executor import Executor
from functions.worker.keeping import kept_seconds
from functions.worker.targets import Outcome, failed, succeeded, timed_out
from shared.adapters.memory import MemoryRunStore
from shared.domain.entry import Entry, single_entry
from shared.domain.errors import StoreThrottled
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant
from shared.domain.job import Job, JobState, RetryPolicy
from shared.domain.message import Dispatch
from shared.domain.run import Finish, RunStatus
from shared.ports import Delivery
from shared.schema import MAX_RECEIVE_COUNT
from tests.unit.worker.workshop import Workshop

#: Waits that are short, and waits that are not.
SHORT = RetryPolicy(max_attempts=3, base_ms=4 * SECOND, factor=2.0)
LONG = RetryPolicy(max_attempts=3, base_ms=10 * MINUTE, factor=2.0)


class Steady:
    """Dice that always fall alike."""

    def __init__(self, fraction: float) -> None:
        self._fraction = fraction

    def fraction(self) -> float:
        return self._fraction

    def random_bytes(self, count: int) -> bytes:
        return b"r" * count


def failing(shop: Workshop, policy: RetryPolicy, outcome: Outcome | None = None, **changes: Any) -> Dispatch:
    answer = failed("http_5xx", "503") if outcome is None else outcome
    shop.target.answer = lambda _: answer
    return shop.dispatch(shop.put_one_time(retry=policy, **changes))


def entries(shop: Workshop) -> list[Entry]:
    return [entry for of_shard in shop.tables.entries.values() for entry in of_shard.values()]


def next_worker(shop: Workshop, fraction: float = 0.5) -> Executor:
    dice = Steady(fraction)
    executor = shop.executor()
    executor._randomness = dice
    return executor


def test_a_short_wait_keeps_the_message_hidden_and_the_run_waiting(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT)
    failed_at = shop.clock.now()

    shop.run_all(next_worker(shop))

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt, run.token) == (RunStatus.WAITING, 2, 1)
    assert run.lease_until == failed_at + 2 * SECOND
    assert run.ended_at is None
    assert (len(shop.queue), entries(shop)) == (1, [])


def test_the_next_attempt_starts_when_its_wait_is_over_and_not_before(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT)
    shop.run_all(next_worker(shop))
    retry_at = shop.run_of(dispatch).lease_until
    shop.target.answer = lambda _: succeeded()
    second = next_worker(shop)

    shop.clock.advance(SECOND)
    [live] = shop.claim(second)
    assert (live.run.attempt, live.run.token, live.run.fire_at) == (2, 2, retry_at)
    shop.clock.advance(retry_at - shop.clock.now() - 1)
    assert second.start_due_once() == []
    shop.clock.advance(1)
    shop.start_all(second)
    second.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.started_at, run.drift and run.drift["total"]) == (RunStatus.SUCCEEDED, retry_at, 0)
    assert [each.attempt for each in run.attempts] == [1, 2]
    assert len(shop.queue) == 0


def test_a_job_that_fails_twice_shows_three_attempts_with_their_delays(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT)
    answers = iter([failed("http_5xx", "1"), timed_out("2"), succeeded("3")])
    shop.target.answer = lambda _: next(answers)
    for wait_ms in (0, 2 * SECOND, 4 * SECOND):
        shop.clock.advance(wait_ms)
        shop.run_all(next_worker(shop))

    run = shop.run_of(dispatch)
    assert (run.status, run.output, run.attempt, run.token) == (RunStatus.SUCCEEDED, "3", 3, 3)
    first, second, third = run.attempts
    assert [each.error and each.error.type for each in run.attempts] == ["http_5xx", "timeout", None]
    assert first.ended_at is not None
    assert second.ended_at is not None
    assert second.started_at == first.ended_at + 2 * SECOND
    assert third.started_at == second.ended_at + 4 * SECOND
    assert shop.tables.jobs[dispatch.job_key].state is JobState.COMPLETED


def test_a_long_wait_becomes_a_single_fire_and_frees_the_queue(shop: Workshop) -> None:
    dispatch = failing(shop, LONG)

    shop.run_all(next_worker(shop))

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt, run.lease_until) == (RunStatus.WAITING, 2, shop.clock.now() + 5 * MINUTE)
    assert entries(shop) == [single_entry(run, shard=dispatch.shard, lane="default")]
    assert len(shop.queue) == 0


def test_two_long_waits_of_one_run_have_entries_of_their_own(shop: Workshop) -> None:
    """A scheduler may delete the first one only now."""
    dispatch = failing(shop, LONG)
    for _ in range(2):
        shop.run_all(next_worker(shop))
        run = shop.run_of(dispatch)
        shop.clock.advance(run.lease_until - shop.clock.now())
        shop.dispatch(shop.tables.jobs[dispatch.job_key], run_id=run.run_id, slot=run.slot, fire_at=run.lease_until)

    assert len({entry.entry_id for entry in entries(shop)}) == 2


def test_the_last_attempt_fails_the_run_completes_the_job_and_leaves_a_dead_letter(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT)
    for wait_ms in (0, 2 * SECOND, 4 * SECOND):
        shop.clock.advance(wait_ms)
        shop.run_all(next_worker(shop))

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt, len(run.attempts)) == (RunStatus.FAILED, 3, 3)
    [letter] = shop.dead_letters.letters
    assert (letter.cause, dispatch.run_id in letter.body) == ("http_5xx", True)
    assert shop.tables.jobs[dispatch.job_key].state is JobState.COMPLETED
    assert len(shop.queue) == 0


def test_a_success_leaves_no_dead_letter(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    shop.run_all(shop.executor())

    assert shop.dead_letters.letters == []


def test_a_time_out_is_repeated(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT, timeout_ms=5 * SECOND)
    executor = next_worker(shop)
    live, _ = shop.begin(executor)
    shop.clock.advance(5 * SECOND)

    assert executor.expire_once() == [live]
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt) == (RunStatus.WAITING, 2)
    assert run.attempts[0].error is not None
    assert run.attempts[0].error.type == "timeout"


def test_retry_after_is_honoured(shop: Workshop) -> None:
    dispatch = failing(
        shop,
        SHORT,
        failed(
            "http_4xx",
            "429",
            retry_after_ms=50 * SECOND,
        ),
    )
    shop.target.answer = lambda _: replace(failed("http_4xx", "429", retry_after_ms=50 * SECOND), http_status=429)

    shop.run_all(next_worker(shop))

    assert shop.run_of(dispatch).lease_until == shop.clock.now() + 50 * SECOND


def test_a_retry_after_beyond_the_age_ends_the_run_and_its_error_says_why(shop: Workshop) -> None:
    policy = replace(SHORT, max_age_ms=HOUR)
    dispatch = failing(shop, policy, failed("http_5xx", "it answered 503", retry_after_ms=2 * HOUR))

    shop.run_all(next_worker(shop))

    run = shop.run_of(dispatch)
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.message == (
        "it answered 503; not tried again: Retry-After asks for PT2H, which is beyond retry.max_age (PT1H)"
    )


def test_a_crash_between_the_row_and_the_hiding_loses_nothing(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT)
    deliveries = shop.receive()
    first = next_worker(shop)
    first.claim_once(deliveries)
    shop.start_all(first)
    [(_, finish)] = first.runs.take_ending(1)
    assert shop.run_store.finish([finish]) == [RunStatus.WAITING]

    shop.target.answer = lambda _: succeeded()
    shop.clock.advance(shop.settings.lease_ms)
    shop.run_all(next_worker(shop))

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt, len(run.attempts)) == (RunStatus.SUCCEEDED, 2, 2)
    assert len(shop.queue) == 0


def test_a_crash_between_the_postponement_and_the_deletion_runs_nothing_early(shop: Workshop) -> None:
    dispatch = failing(shop, LONG)
    deliveries = shop.receive()
    first = next_worker(shop)
    first.claim_once(deliveries)
    shop.start_all(first)
    [(live, finish)] = first.runs.take_ending(1)
    shop.run_store.postpone(finish, single_entry(live.run.waiting(finish), shard=0, lane="default"))
    calls = len(shop.target.calls)

    shop.clock.advance(shop.settings.lease_ms)
    shop.run_all(next_worker(shop))

    assert len(shop.target.calls) == calls
    assert shop.run_of(dispatch).status is RunStatus.WAITING


def test_a_finish_that_could_not_be_stored_is_stored_once_later(shop: Workshop) -> None:
    dispatch = failing(shop, LONG)

    class FailsOnce(MemoryRunStore):
        failures = 1

        def postpone(self, finish: Finish, entry: Entry) -> RunStatus | None:
            status = super().postpone(finish, entry)
            if self.failures:
                self.failures -= 1
                raise StoreThrottled("postpone", "too fast")
            return status

    executor = shop.executor(run_store=FailsOnce(shop.tables))
    executor._randomness = Steady(0.5)
    with pytest.raises(StoreThrottled):
        shop.run_all(executor)
    executor.finish_once()

    assert len(shop.run_of(dispatch).attempts) == 1
    assert len(entries(shop)) == 1
    assert len(shop.queue) == 0


def test_a_fenced_worker_plans_no_further_attempt(shop: Workshop) -> None:
    dispatch = failing(shop, LONG)
    first = next_worker(shop)
    shop.claim(first)
    shop.start_all(first)
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + 1)
    second = next_worker(shop)
    shop.claim(second)

    first.finish_once()

    assert first.counts["fenced"] == 1
    assert entries(shop) == []
    assert shop.run_of(dispatch).token == 2


def test_a_job_without_retries_whose_worker_dies_is_tried_thrice_and_then_given_up(shop: Workshop) -> None:
    """Poison: whatever takes the run dies of it."""
    dispatch = failing(shop, RetryPolicy(max_attempts=1))
    for _ in range(3):
        [_live] = shop.claim(shop.executor())
        shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + SECOND)

    last = shop.executor()
    shop.claim(last)
    assert last.start_due_once() == []
    last.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.error and run.error.type, len(run.attempts)) == (RunStatus.FAILED, "lost", 3)
    assert [letter.cause for letter in shop.dead_letters.letters] == ["lost"]
    assert len(shop.queue) == 0


def delivery(**changes: Any) -> Delivery:
    given: dict[str, Any] = {"message_id": "m", "receipt_handle": "h", "body": "", "dispatch": None}
    return Delivery(**given | {"received_at": Instant(0)} | changes)


@pytest.mark.parametrize(
    ("wait_ms", "seconds"), [(0, 0), (300, 0), (1_299, 0), (1_300, 1), (60 * SECOND, 59), (60 * SECOND + 1, None)]
)
def test_a_message_is_back_a_little_before_its_run_starts(wait_ms: int, seconds: int | None) -> None:
    assert kept_seconds(delivery(), until=Instant(wait_ms), now=Instant(0), lead_ms=300) == seconds


def test_a_message_is_not_kept_beyond_what_the_queue_bears() -> None:
    now = Instant(12 * HOUR - MINUTE - 10 * SECOND)

    assert kept_seconds(delivery(), until=Instant(now + 10 * SECOND), now=now, lead_ms=300) == 9
    assert kept_seconds(delivery(), until=Instant(now + 10 * SECOND + 1), now=now, lead_ms=300) is None
    worn = delivery(receive_count=MAX_RECEIVE_COUNT // 2 + 1)
    assert kept_seconds(worn, until=Instant(SECOND), now=Instant(0), lead_ms=300) is None


def test_a_waiting_run_of_a_cancelled_job_is_cancelled(shop: Workshop) -> None:
    dispatch = failing(shop, SHORT)
    shop.run_all(next_worker(shop))
    job: Job = shop.tables.jobs[dispatch.job_key]
    shop.tables.jobs[dispatch.job_key] = replace(job, state=JobState.CANCELLED)

    shop.clock.advance(2 * SECOND)
    shop.run_all(next_worker(shop))

    assert shop.run_of(dispatch).status is RunStatus.CANCELLED
    assert len(shop.target.calls) == 1
