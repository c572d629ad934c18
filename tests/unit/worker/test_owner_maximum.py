"""The runs of an owner beside each other, where a deployment gives the owner a maximum."""

from __future__ import annotations

from dataclasses import replace

from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.settings import WorkerSettings
from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND, Instant
from shared.domain.job import RetryPolicy
from shared.domain.overlap import Holder, Place
from shared.domain.owner_places import OwnerMaximums
from shared.domain.run import RunStatus
from shared.ports import Hold
from tests.unit.worker.workshop import OWNER, Workshop


def limited(shop: Workshop, maximum: int = 2) -> Executor:
    settings = WorkerSettings(owner_maximums=OwnerMaximums({OWNER: maximum}))
    return shop.executor(settings=settings)


def finish(executor: Executor, live: LiveRun) -> None:
    executor.end(live, succeeded())
    executor.finish_once()


def holders(shop: Workshop) -> list[Holder]:
    return [
        holder for (_, place), held in shop.tables.holders.items() for holder in held.values() if place is Place.OWNER
    ]


def test_an_owners_runs_wait_for_each_other_and_none_fails(shop: Workshop) -> None:
    executor = limited(shop)
    dispatches = [shop.dispatch(shop.put_one_time(f"job{number}")) for number in range(5)]
    going = shop.begin_all(executor)
    ran = 0

    for second in range(120):
        assert len(going) <= 2
        if second % 10 == 9:
            ran += len(going)
            for live in going:
                finish(executor, live)
            going = []
        shop.clock.advance(SECOND)
        executor.heartbeat_once()
        going += shop.begin_all(executor)

    runs = [shop.run_of(dispatch) for dispatch in dispatches]
    assert [(run.status, run.attempt, len(run.attempts)) for run in runs] == [(RunStatus.SUCCEEDED, 1, 1)] * 5
    assert ran == 5
    assert (shop.dead_letters.letters, len(shop.queue), holders(shop)) == ([], 0, [])


def test_a_run_that_waits_for_its_owner_says_so_and_is_counted(shop: Workshop) -> None:
    executor = limited(shop, 1)
    shop.dispatch(shop.put_one_time("first"))
    assert len(shop.begin_all(executor)) == 1
    second = shop.dispatch(shop.put_one_time("second"))

    assert shop.begin_all(executor) == []

    run = shop.run_of(second)
    assert (run.status, run.reason) == (RunStatus.WAITING, "owner_maximum")
    assert executor.measured()["delayed"] == 1


def test_of_runs_that_wait_for_long_none_is_in_flight_and_each_runs_in_the_end(shop: Workshop) -> None:
    """A lane bears 120,000 messages in flight, of all owners together."""
    executor = limited(shop, 1)
    shop.dispatch(shop.put_one_time("first"))
    [first] = shop.begin_all(executor)
    dispatches = [shop.dispatch(shop.put_one_time(f"job{number}")) for number in range(30)]

    for _ in range(420):
        shop.begin_all(executor)
        while executor.finish_once():
            pass
        shop.clock.advance(SECOND)
        executor.heartbeat_once()
    assert {shop.run_of(dispatch).status for dispatch in dispatches} == {RunStatus.WAITING}
    # That of the run which goes on.
    assert len(shop.queue) == 1
    assert len(shop.tables.entries[0]) == len(dispatches)

    finish(executor, first)
    for _ in range(30):
        shop.clock.advance(130 * SECOND)
        fire_entries(shop)
        while begun := shop.begin_all(executor):
            for live in begun:
                finish(executor, live)
            fire_entries(shop)
    assert {shop.run_of(dispatch).status for dispatch in dispatches} == {RunStatus.SUCCEEDED}


def fire_entries(shop: Workshop) -> None:
    """As a node does, of the waits that are over."""
    for entry_id, entry in list(shop.tables.entries[0].items()):
        [run] = [run for run in shop.tables.runs.values() if run.job_key == entry.job_key]
        if run.lease_until <= shop.clock.now():
            del shop.tables.entries[0][entry_id]
            shop.dispatch(shop.tables.jobs[entry.job_key], run.slot, is_single=True)


def test_a_run_that_waited_for_long_goes_on_looking_rarely_with_its_new_message(shop: Workshop) -> None:
    executor = limited(shop, 1)
    shop.dispatch(shop.put_one_time("first"))
    shop.begin_all(executor)
    second = shop.dispatch(shop.put_one_time("second"))
    for _ in range(400):
        shop.begin_all(executor)
        shop.clock.advance(SECOND)
        executor.heartbeat_once()
    waits_until = shop.run_of(second).lease_until
    shop.clock.advance(max(waits_until - shop.clock.now(), 0))
    executor.heartbeat_once()

    fire_entries(shop)
    shop.begin_all(executor)

    assert shop.run_of(second).lease_until - shop.clock.now() > 60 * SECOND


def test_owners_without_a_maximum_are_not_counted(shop: Workshop) -> None:
    executor = limited(shop, 1)
    for number in range(3):
        shop.dispatch(shop.put_job(f"job{number}", owner_id="other"))

    assert len(shop.begin_all(executor)) == 3
    assert shop.tables.holders == {}


def test_a_run_between_two_attempts_is_no_run_of_its_owners(shop: Workshop) -> None:
    executor = limited(shop, 1)
    shop.dispatch(shop.put_one_time("first", retry=RetryPolicy(max_attempts=2)))
    [first] = shop.begin_all(executor)
    executor.end(first, replace(failed("http_5xx", "503"), retry_after_ms=40 * SECOND))
    executor.finish_once()

    shop.dispatch(shop.put_one_time("second"))

    assert len(shop.begin_all(executor)) == 1


def test_the_place_of_a_dead_worker_lapses(shop: Workshop) -> None:
    shop.dispatch(shop.put_one_time("first"))
    assert len(shop.begin_all(limited(shop, 1))) == 1
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + 1)
    shop.receive()

    shop.dispatch(shop.put_one_time("second"))

    assert len(shop.begin_all(limited(shop, 1))) == 1


def test_a_place_lives_as_long_as_its_heartbeat_and_a_lost_one_stops_nobody(shop: Workshop) -> None:
    executor = limited(shop, 1)
    shop.dispatch(shop.put_one_time())
    [live] = shop.begin_all(executor)
    shop.clock.advance(15 * SECOND)
    executor.heartbeat_once()
    assert [holder.lease_until for holder in holders(shop)] == [shop.clock.now() + shop.settings.lease_ms]

    shop.tables.holders.clear()
    shop.clock.advance(15 * SECOND)
    executor.heartbeat_once()

    assert not live.cancelled.is_set()
    assert executor.counts["fenced"] == 0


def test_a_job_that_excludes_goes_on_excluding_while_its_run_waits_for_the_owner(shop: Workshop) -> None:
    executor = limited(shop, 1)
    shop.dispatch(shop.put_one_time("other"))
    assert len(shop.begin_all(executor)) == 1
    job = shop.put_job("job", overlap="skip")
    first = shop.dispatch(job)
    second = shop.dispatch(job, Instant(shop.clock.now() + 1), is_single=True)
    shop.clock.advance(1)

    assert shop.begin_all(executor) == []

    assert (shop.run_of(first).status, shop.run_of(first).reason) == (RunStatus.WAITING, "owner_maximum")
    assert (shop.run_of(second).status, shop.run_of(second).reason) == (RunStatus.SKIPPED, "overlap")


class Throttled(MemoryJobStore):
    refuses = True

    def hold(self, hold: Hold, *, limit: int, now: Instant, clock_bound_ms: int) -> tuple[Holder, ...]:
        if self.refuses and hold.place is Place.OWNER:
            raise StoreThrottled("jobs.hold", "on purpose")
        return super().hold(hold, limit=limit, now=now, clock_bound_ms=clock_bound_ms)


def test_nothing_starts_while_the_owners_places_cannot_be_counted(shop: Workshop) -> None:
    store = Throttled(shop.tables)
    executor = shop.executor(job_store=store, settings=WorkerSettings(owner_maximums=OwnerMaximums({"*": 1})))
    shop.dispatch(shop.put_one_time())
    assert shop.begin_all(executor) == []

    store.refuses = False
    shop.clock.advance(SECOND)

    assert len([live for live in executor.start_due_once() if executor.begin(live) is not None]) == 1
