"""What is told on the bus, when, and what never is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jsonschema_rs
import pytest

from functions.worker.executor import Executor
from functions.worker.targets import failed, succeeded, timed_out
from functions.worker.targets.pausing import Pauses
from shared.adapters.memory import MemoryEventBus, MemoryRunStore
from shared.domain.errors import StoreError, StoreThrottled
from shared.domain.events import SCHEMAS, Event, EventType
from shared.domain.job import JobState, RetryPolicy
from shared.domain.run import Finish, RunStatus
from shared.observability.announcing import MOST_KEPT, Announcements
from tests.unit.worker.workshop import Workshop

SECRET = "a-secret-of-the-user"
TWICE = RetryPolicy(max_attempts=2)


def telling(shop: Workshop, **changes: Any) -> tuple[Executor, MemoryEventBus, Announcements]:
    bus = MemoryEventBus()
    announcements = Announcements(bus)
    return shop.executor(announcements=announcements, **changes), bus, announcements


def types(bus: MemoryEventBus) -> list[EventType]:
    return [event.type for event in bus.events]


def check(events: Sequence[Event]) -> None:
    for event in events:
        schema = dict(SCHEMAS[event.type])
        jsonschema_rs.validator_for(schema).validate(dict(event.detail))
        assert set(event.detail) == set(schema["properties"])
        assert SECRET not in json.dumps(dict(event.detail))


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (succeeded(output=SECRET), EventType.RUN_SUCCEEDED),
        (failed("http_5xx", SECRET), EventType.RUN_FAILED),
        (timed_out(SECRET), EventType.RUN_TIMED_OUT),
    ],
)
def test_the_end_of_a_run_is_told_once_and_without_what_a_user_wrote(
    shop: Workshop, outcome: Any, told: EventType
) -> None:
    executor, bus, announcements = telling(shop)
    shop.target.answer = lambda _: outcome
    dispatch = shop.dispatch(shop.put_job(payload={"password": SECRET}))

    shop.run_all(executor)
    assert bus.events == []
    announcements.publish_once()
    announcements.publish_once()

    [event] = bus.events
    assert event.type is told
    assert (event.detail["run_id"], event.detail["attempt"]) == (dispatch.run_id, 1)
    assert event.detail["error_type"] == (None if outcome.error is None else outcome.error.type)
    check(bus.events)


def test_a_run_that_waits_for_another_attempt_has_not_ended(shop: Workshop) -> None:
    executor, bus, announcements = telling(shop)
    shop.target.answer = lambda _: failed("http_5xx", "503")
    shop.dispatch(shop.put_job(retry=TWICE))

    shop.run_all(executor)
    announcements.publish_once()

    assert bus.events == []


@pytest.mark.parametrize(
    ("state", "told"), [(JobState.PAUSED, EventType.RUN_SKIPPED), (JobState.CANCELLED, EventType.RUN_CANCELLED)]
)
def test_a_run_that_never_starts_is_told_with_its_reason(shop: Workshop, state: JobState, told: EventType) -> None:
    executor, bus, announcements = telling(shop)
    shop.dispatch(shop.put_job(state=state))

    shop.run_all(executor)
    announcements.publish_once()

    assert types(bus) == [told]
    assert bus.events[0].detail["reason"] == state
    check(bus.events)


def test_the_last_run_of_a_job_tells_that_it_is_completed(shop: Workshop) -> None:
    executor, bus, announcements = telling(shop)
    shop.dispatch(shop.put_one_time())

    shop.run_all(executor)
    announcements.publish_once()

    assert sorted(types(bus)) == [EventType.JOB_COMPLETED, EventType.RUN_SUCCEEDED]
    check(bus.events)


def test_a_job_that_its_receiver_pauses_is_told(shop: Workshop) -> None:
    _, bus, announcements = telling(shop)
    job = shop.put_job()
    pauses = Pauses(shop.job_store, shop.clock, shard_count=4, announce=announcements.add)

    assert pauses.pause(job.job_key, job.target, reason="gone")
    announcements.publish_once()

    assert types(bus) == [EventType.JOB_PAUSED]
    assert bus.events[0].detail["reason"] == "gone"
    check(bus.events)


class Refusing(MemoryRunStore):
    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        raise StoreThrottled("runs.finish", f"{len(finishes)} on purpose")


def test_nothing_is_told_of_what_is_not_written(shop: Workshop) -> None:
    executor, bus, announcements = telling(shop, run_store=Refusing(shop.tables))
    shop.dispatch(shop.put_job())
    with pytest.raises(StoreThrottled):
        shop.run_all(executor)
    announcements.publish_once()

    assert bus.events == []


class Away(MemoryEventBus):
    def publish(self, events: Sequence[Event]) -> None:
        raise StoreThrottled("events.publish", f"{len(events)} on purpose")


def test_a_bus_that_is_away_costs_its_events_and_nothing_else(shop: Workshop) -> None:
    announcements = Announcements(Away())
    executor = shop.executor(announcements=announcements)
    dispatch = shop.dispatch(shop.put_job())
    shop.run_all(executor)

    assert announcements.publish_once() == 1
    assert announcements.lost == 1
    assert announcements.publish_once() == 0
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_no_more_is_kept_than_memory_bears(shop: Workshop) -> None:
    bus = MemoryEventBus()
    announcements = Announcements(bus)
    event = Event(EventType.JOB_PAUSED, shop.clock.now(), {})
    announcements.add([event] * (MOST_KEPT + 1))

    announcements.publish_once()
    assert (len(bus.events), announcements.lost) == (MOST_KEPT, 1)
