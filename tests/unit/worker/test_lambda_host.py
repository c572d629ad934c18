"""The worker as a Lambda function: one invocation, one batch, and exactly what must stay in the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Barrier
from typing import Any

import pytest

from functions.worker.lambda_host import LambdaHost
from functions.worker.parts import WorkerParts
from functions.worker.targets import Call, Outcome, Targets, failed, succeeded
from shared.adapters.memory import ManualClock, MemoryDueQueue, MemoryRunStore, SeededRandomness
from shared.domain.errors import StoreError, StoreThrottled
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.message import encode
from shared.domain.run import Run, RunStatus
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import Delivery
from tests.unit.worker.workshop import Workshop

ARN = "arn:aws:sqs:us-east-1:000000000000:lane-default-1A2B"


@dataclass
class Remaining:
    ms: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        return self.ms


def host_over(shop: Workshop, **changes: Any) -> LambdaHost:
    given: dict[str, Any] = {
        "queues": {"default": shop.queue},
        "lanes_by_queue_name": {"lane-default-1A2B": "default"},
        "run_store": shop.run_store,
        "entry_store": shop.entry_store,
        "dead_letters": {"default": shop.dead_letters},
        "job_store": shop.job_store,
        "targets": Targets({"recorded": shop.target}),
        "clock": shop.clock,
        "randomness": SeededRandomness(),
        "settings": shop.settings,
        "metrics": MetricLog("Carillon/test", {"service": "worker", "host": "lambda"}),
        "announcements": Announcements(None),
    }
    return LambdaHost(WorkerParts(**given | changes))


class Running:
    """A manual clock that goes on by a tenth of a second each time it is asked how much has passed."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def now(self) -> Instant:
        return self._clock.now()

    def monotonic(self) -> float:
        self._clock.advance(SECOND // 10)
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def advance(self, ms: int) -> None:
        self._clock.advance(ms)


def event_of(deliveries: Sequence[Delivery]) -> dict[str, Any]:
    """As the mapping hands it over."""
    return {
        "Records": [
            {
                "messageId": delivery.message_id,
                "receiptHandle": delivery.receipt_handle,
                "body": delivery.body,
                "attributes": {"ApproximateReceiveCount": "1"},
                "eventSource": "aws:sqs",
                "eventSourceARN": ARN,
            }
            for delivery in deliveries
        ]
    }


def test_a_batch_that_is_done_reports_no_failure_and_deletes_nothing_itself(shop: Workshop) -> None:
    dispatches = [shop.dispatch(shop.put_job(f"job-{number}")) for number in range(10)]
    event = event_of(shop.receive())

    answer = host_over(shop).handle(event, Remaining())

    assert answer == {"batchItemFailures": []}
    assert {shop.run_of(dispatch).status for dispatch in dispatches} == {RunStatus.SUCCEEDED}
    assert len(shop.queue) == 10, "the mapping deletes"


def test_a_failed_run_is_recorded_and_its_message_done_with(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.target.answer = lambda _: failed("http_5xx", "no")

    assert host_over(shop).handle(event_of(shop.receive()), Remaining()) == {"batchItemFailures": []}
    assert shop.run_of(dispatch).status is RunStatus.FAILED


def test_of_ten_messages_exactly_the_third_is_reported(shop: Workshop) -> None:
    """B47."""
    for number in range(10):
        shop.dispatch(shop.put_job(f"job-{number}"))
    deliveries = shop.receive()
    shop.executor().claim_once([deliveries[2]])

    answer = host_over(shop).handle(event_of(deliveries), Remaining())

    assert answer == {"batchItemFailures": [{"itemIdentifier": deliveries[2].message_id}]}


def test_hidden_messages_are_reported_after_their_visibility_was_set(shop: Workshop) -> None:
    early = shop.dispatch(shop.put_job(), Instant(shop.clock.now() + MINUTE))
    shop.queue.send_body('{"v": 99}')
    deliveries = shop.receive()

    answer = host_over(shop).handle(event_of(deliveries), Remaining())

    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == [
        delivery.message_id for delivery in deliveries
    ]
    shop.clock.advance(MINUTE - SECOND)
    assert [delivery.dispatch for delivery in shop.receive()] == [early]


def test_a_duplicate_is_done_with(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    host = host_over(shop)
    host.handle(event_of(deliveries), Remaining())

    assert host.handle(event_of(deliveries), Remaining()) == {"batchItemFailures": []}
    assert len(shop.target.calls) == 1


def test_when_claiming_fails_every_message_stays(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    deliveries = shop.receive()

    class Throttled(MemoryRunStore):
        def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
            raise StoreThrottled("insert", f"{len(runs)} too many")

    answer = host_over(shop, run_store=Throttled(shop.tables)).handle(event_of(deliveries), Remaining())

    assert answer == {"batchItemFailures": [{"itemIdentifier": deliveries[0].message_id}]}


@pytest.mark.parametrize("method", ["insert", "take_over"])
def test_what_could_not_be_claimed_comes_again_after_a_lease_and_not_when_the_mapping_would_show_it(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    shop.dispatch(shop.put_job())
    if method == "take_over":
        # A dead worker's, whose lease is over.
        shop.claim(shop.executor())
        shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + SECOND)
    deliveries = shop.queue.receive(limit=10, wait_seconds=0, visibility_seconds=5_400)
    assert deliveries

    def throttled(*_: Any, **__: Any) -> None:
        raise StoreThrottled(method, "too many")

    monkeypatch.setattr(MemoryRunStore, method, throttled)
    answer = host_over(shop).handle(event_of(deliveries), Remaining())

    assert len(answer["batchItemFailures"]) == 1
    shop.clock.advance(shop.settings.lease_ms - SECOND)
    assert shop.receive() == []
    shop.clock.advance(SECOND)
    assert len(shop.receive()) == 1


class Dies(Exception):
    """The process of the function ends here."""


@pytest.mark.parametrize("method", ["insert", "finish"])
def test_should_the_function_die_at_once_its_messages_come_again_after_a_lease_and_not_after_90_minutes(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    shop.dispatch(shop.put_job())
    deliveries = shop.queue.receive(limit=10, wait_seconds=0, visibility_seconds=5_400)

    def die(*_: Any) -> None:
        raise Dies

    monkeypatch.setattr(MemoryRunStore, method, die)
    with pytest.raises(Dies):
        host_over(shop).handle(event_of(deliveries), Remaining())

    shop.clock.advance(shop.settings.lease_ms - 1)
    assert shop.receive() == []
    shop.clock.advance(1)
    assert len(shop.receive()) == 1


def test_all_messages_of_a_batch_are_hidden_by_one_request(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        shop.dispatch(shop.put_job(f"job-{number}"))
    deliveries = shop.queue.receive(limit=10, wait_seconds=0, visibility_seconds=5_400)
    sizes: list[int] = []
    monkeypatch.setattr(MemoryDueQueue, "hide_all", lambda _, hidden, **__: sizes.append(len(hidden)))

    host_over(shop).handle(event_of(deliveries), Remaining())

    assert sizes == [10]


def test_an_invocation_watches_the_run_of_a_function_that_died_and_takes_it_over(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.clock = Running(shop.clock)  # type: ignore[assignment]
    shop.claim(shop.executor())
    shop.clock.advance(shop.settings.lease_ms)
    deliveries = shop.queue.receive(limit=10, wait_seconds=0, visibility_seconds=5_400)

    answer = host_over(shop).handle(event_of(deliveries), Remaining())

    assert answer == {"batchItemFailures": []}
    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.attempt) == (RunStatus.SUCCEEDED, 2, 2)


def test_an_empty_event_is_answered(shop: Workshop) -> None:
    assert host_over(shop).handle({"Records": []}, Remaining()) == {"batchItemFailures": []}


def test_a_run_that_cannot_end_before_the_invocation_is_not_claimed(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    least_ms = 3 * SECOND + SECOND

    answer = host_over(shop).handle(event_of(deliveries), Remaining(least_ms - 1))

    assert len(answer["batchItemFailures"]) == 1
    assert shop.run_store.get(dispatch.key) is None
    [again] = shop.receive()
    assert again.dispatch == dispatch, "handed back at once"
    assert host_over(shop).handle(event_of([again]), Remaining(least_ms)) == {"batchItemFailures": []}


def test_a_run_is_given_no_more_time_than_the_invocation_has(shop: Workshop) -> None:
    shop.dispatch(shop.put_job(timeout_ms=MINUTE))

    host_over(shop).handle(event_of(shop.receive()), Remaining(20 * SECOND))

    [call] = shop.target.calls
    assert call.timeout_ms == 17 * SECOND


def test_the_runs_of_a_batch_run_at_the_same_time(shop: Workshop) -> None:
    together = Barrier(3)

    def meets(_: Call) -> Outcome:
        together.wait(timeout=10)
        return succeeded()

    shop.target.answer = meets
    dispatches = [shop.dispatch(shop.put_job(f"job-{number}")) for number in range(3)]

    host_over(shop).handle(event_of(shop.receive()), Remaining())

    assert {shop.run_of(dispatch).status for dispatch in dispatches} == {RunStatus.SUCCEEDED}


def test_a_queue_of_no_lane_is_named(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    event = event_of(shop.receive())
    event["Records"][0]["eventSourceARN"] = "arn:aws:sqs:us-east-1:000000000000:strange"

    with pytest.raises(LookupError, match="strange"):
        host_over(shop).handle(event, Remaining())


def test_each_invocation_has_a_worker_id_of_its_own(shop: Workshop) -> None:
    """Environments restored from one snapshot must not share it."""
    dispatches = []
    host = host_over(shop)
    for number in range(2):
        dispatch = shop.dispatch(shop.put_job(f"job-{number}"))
        dispatches.append(dispatch)
        [delivery] = [found for found in shop.receive() if found.body == encode(dispatch)]
        host.handle(event_of([delivery]), Remaining())

    assert len({shop.run_of(dispatch).worker_id for dispatch in dispatches}) == 2
