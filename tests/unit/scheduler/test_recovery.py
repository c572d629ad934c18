"""What would misfire, said before the brake is released, is what then happens."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from functions.scheduler.recovery.forecast import Forecast, forecasts
from functions.scheduler.recovery.report import Misfires, lines_of
from functions.scheduler.recovery.restoring import Restore, newest_common, restore, targets_of
from shared.domain.entry import single_entry
from shared.domain.errors import WriteRefused
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.job import Job, JobState
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import ONE_TIME_MISFIRE, Misfire, default_misfire, parse_schedule
from shared.domain.sharding import shard_of
from shared.schema import TABLES
from tests.unit.scheduler.test_missed_slots import at
from tests.unit.scheduler.world import SHARDS, World


def told(world: World, *, now: Instant | None = None) -> list[Forecast]:
    """Of all shards, from the tables as they are."""
    now = world.now if now is None else now
    snapshot = world.fleet.snapshot()
    found: list[Forecast] = []
    for shard in range(SHARDS):
        pages = world.entries.announced(shard, since=Instant(0), until=now)
        entries = [entry for page in pages for entry in page]
        found += forecasts(entries, snapshot.lease(shard).watermark, now)
    return found


def told_of(world: World, job: Job) -> Forecast:
    [found] = [each for each in told(world) if each.entry.job_key == job.job_key]
    return found


def happens(world: World) -> dict[str, Counter[str]]:
    """By job, what a node that starts now makes of what is due, in tables that `restore` has left."""
    now = world.now
    world.fleet.remove_node("before")
    world.start_node("first")
    sent = [each for each in world.run(2 * SECOND) if each.fire_at <= now]
    fates: dict[str, Counter[str]] = {}
    for each in sent:
        fate = "caught_up" if each.kind is RunKind.CATCH_UP else "fired"
        fates.setdefault(each.job_key, Counter())[fate] += 1
    for row in world.tables.runs.values():
        if row.gap is not None:
            fates.setdefault(row.job_key, Counter())["skipped"] += row.gap.count
    return fates


def counted(found: list[Forecast]) -> dict[str, Counter[str]]:
    by_job: dict[str, Counter[str]] = {}
    for each in found:
        fates = {"fired": each.fired, "caught_up": each.caught_up, "skipped": each.skipped}
        by_job.setdefault(each.entry.job_key, Counter()).update({name: n for name, n in fates.items() if n})
    return by_job


def a_busy_hour() -> World:
    """Jobs of every kind, a fleet that fired for a while, and then nobody for an hour."""
    world = World()
    world.start_node("before")
    for policy in ("fire_once", "fire_all", "skip"):
        world.create(policy, Misfire(policy=policy), every="PT1M")
        world.create(f"{policy}-just-now", Misfire(policy=policy, grace_ms=2 * HOUR), every="PT10M")
    uneven: dict[str, Any] = {"cron": "0,10,40 * * * * *", "seconds": True}
    world.create("uneven", default_misfire(parse_schedule(uneven, now=world.now)), **uneven)
    world.create("patient", ONE_TIME_MISFIRE, every="PT7S")
    world.create("jittered", Misfire(policy="fire_all", grace_ms=None), every="PT1M", window="PT30S")
    world.create("once", ONE_TIME_MISFIRE, at=at(world.now + 20 * MINUTE))
    world.create("tomorrow", every="PT24H")
    world.reschedule(world.create("changed", every="PT1S"), every="PT30M")
    world.cancel(world.create("cancelled", every="PT1S"))
    world.reschedule(world.create("paused", every="PT1S"), state=JobState.PAUSED)
    world.run(90 * SECOND)
    for node in list(world.nodes):
        world.kill(node)
    world.clock.advance(HOUR)
    return world


def test_the_forecast_is_what_then_happens() -> None:
    world = a_busy_hour()
    found = told(world)

    assert counted(found) == happens(world)
    assert {each.policy for each in found} == {"once", "fire_once", "fire_all", "skip"}


def test_a_single_fire_that_waits_for_its_next_attempt_is_fired() -> None:
    world = World()
    job = world.create("retried", every="PT24H")
    run = Run(
        job_key=job.job_key,
        run_id="waiting",
        kind=RunKind.MANUAL,
        slot=world.now,
        fire_at=world.now,
        status=RunStatus.WAITING,
        generation=job.generation,
        lease_until=Instant(world.now + MINUTE),
    )
    entry = single_entry(run, shard=shard_of(job.job_key, SHARDS), lane="default")
    early = list(forecasts([entry], Instant(0), Instant(world.now + MINUTE - 1)))
    [found] = forecasts([entry], Instant(0), Instant(world.now + MINUTE))

    assert early == []
    assert (found.policy, found.fired, found.count) == ("once", 1, 1)


def test_what_the_watermark_speaks_for_is_not_told_again() -> None:
    world = World()
    world.start_node("a")
    job = world.create("minutely", Misfire(policy="fire_all", limit=100), every="PT1M")
    world.run(10 * MINUTE + 10 * SECOND)
    for node in list(world.nodes):
        world.kill(node)
    world.clock.advance(5 * MINUTE)

    found = told_of(world, job)

    assert found.count == 5
    assert found.first > world.fleet.snapshot().lease(found.entry.shard).watermark


def test_a_week_of_seconds_is_counted_and_not_visited() -> None:
    world = World()
    job = world.create("often", Misfire(policy="fire_all", grace_ms=None), every="PT1S")
    world.clock.advance(7 * DAY)

    assert told_of(world, job).fired == 7 * DAY // SECOND


def test_an_older_generation_says_nothing() -> None:
    world = World()
    job = world.create("changed", every="PT1S")
    [old] = [entry for shard in world.tables.entries.values() for entry in shard.values()]
    tombstone = replace(old, schedule=None, generation=old.generation + 1, entry_id=f"{job.job_key}#later")
    now = Instant(world.now + HOUR)

    assert [each.entry for each in forecasts([old], Instant(0), now)] == [old]
    assert list(forecasts([old, tombstone], Instant(0), now)) == []


def report(world: World, *, first: int = 3, is_firing: bool = False) -> list[str]:
    watermarks = {shard: world.fleet.snapshot().lease(shard).watermark for shard in range(SHARDS)}
    return list(lines_of(Misfires(is_firing, world.now, watermarks, told(world)), first=first))


def test_the_report_counts_by_policy_and_names_the_oldest() -> None:
    lines = report(a_busy_hour())

    assert lines[0].startswith("firing is off; settled up to ")
    assert lines[1].split("  ")[0].strip() == "policy"
    assert [line.split()[0] for line in lines[2:6]] == ["once", "fire_once", "fire_all", "skip"]
    assert lines[6].startswith("the first 3 of ")
    assert len(lines) == 10
    assert all(line.startswith("  acme/") for line in lines[7:])


def test_the_report_of_a_fleet_that_fires_says_so() -> None:
    world = World()

    assert "ON: nodes of these tables fire already" in report(world, is_firing=True)[0]
    assert report(world)[1:] == ["nothing is due"]


class FakeBackups:
    """Restores that take two looks each."""

    def __init__(self, newest: dict[str, Instant]) -> None:
        self._newest = newest
        self.calls: list[tuple[str, ...]] = []
        self._looks: Counter[str] = Counter()

    def newest(self, table: str) -> Instant:
        return self._newest[table]

    def begin(self, source: str, target: str, at: Instant) -> None:
        if source == "refused":
            raise WriteRefused("backups.begin", "no such instant")
        self.calls.append(("begin", source, target, str(at)))

    def is_ready(self, target: str) -> bool:
        self._looks[target] += 1
        return self._looks[target] > 1

    def complete(self, target: str, *, ttl: str | None) -> None:
        self.calls.append(("complete", target, str(ttl)))


SOURCES = {table.name: f"old-{table.name}" for table in TABLES}


def test_the_newest_common_instant_is_the_earliest_of_the_newest_in_whole_seconds() -> None:
    newest = {source: Instant(10 * SECOND + 1 + number) for number, source in enumerate(SOURCES.values())}

    assert newest_common(FakeBackups(newest), SOURCES) == 10 * SECOND


def test_every_table_comes_back_to_one_instant_and_then_the_brake_is_on() -> None:
    world, backups = World(), FakeBackups({})
    world.start_node("of another time")
    targets = targets_of("restored")

    restore(backups, world.fleet, world.clock, Restore(SOURCES, targets, Instant(5_000)), lambda _line: None)

    begun = [call for call in backups.calls if call[0] == "begin"]
    assert begun == [("begin", SOURCES[name], targets[name], "5000") for name in SOURCES]
    assert ("complete", "restored-job_runs", "expires_at") in backups.calls
    assert ("complete", "restored-fleet", "None") in backups.calls
    snapshot = world.fleet.snapshot()
    assert (snapshot.control.is_firing, snapshot.nodes) == (False, {})


def test_a_table_that_cannot_be_restored_leaves_the_fleet_as_it_is() -> None:
    world = World()
    sources = {**SOURCES, "access": "refused"}

    with pytest.raises(WriteRefused):
        restore(FakeBackups({}), world.fleet, world.clock, Restore(sources, targets_of("x"), Instant(0)), print)

    assert world.fleet.snapshot().control.is_firing
