"""Excluded days weigh more than all else of an entry: they are kept once, and count against a node's memory."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from datetime import date, timedelta
from types import FunctionType, ModuleType
from typing import Any

import pytest

from functions.scheduler.due import Due
from functions.scheduler.outbox import BYTES_OF_WAITING, MOST_WAITING, Outbox
from functions.scheduler.shard import Shard
from shared.adapters.dynamodb.entry_rows import read_entry, write_entry
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.domain.entry import Entry, entry_of
from shared.domain.fleet import Lease
from shared.domain.instants import HOUR, SECOND, Instant, to_rfc3339
from shared.domain.run import RunKind
from tests.unit.scheduler.world import TIMING, World

#: What `Settings.most_residents` of them may take: 300 MB.
MOST_BYTES = 600


def holidays(first: int, *, reason: str = "\N{PARTY POPPER}" * 100) -> list[dict[str, str]]:
    """A hundred days, which are as many as a job may exclude; those of another `first` are others."""
    days = [date(2027, 1, 1) + timedelta(days=first + 2 * number) for number in range(100)]
    return [{"date": day.isoformat(), "reason": reason} for day in days]


def stored(world: World, job_id: str, **schedule: Any) -> Entry:
    """As a node reads it from the table."""
    return read_entry(write_entry(entry_of(world.create(job_id, **schedule), shard_count=1)))


def empty(world: World) -> Shard:
    return Shard(Lease(0, "a", 1, world.now), TIMING, world.now)


def bytes_of(root: object) -> int:
    """Of it and of all that it refers to."""
    seen: set[int] = set()
    total, left = 0, [root]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType):
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        left += gc.get_referents(each)
    return total


def long_cron(number: int) -> str:
    """Near the most characters that one may have, and unlike that of any other number."""
    minutes = ",".join(str(minute) for minute in range(60) if minute != number % 60)
    hours = ",".join(str(hour) for hour in range(24) if hour != number // 60)
    return f"{minutes} {hours} * * *"


def worst(world: World, kind: str, number: int) -> dict[str, Any]:
    soon = to_rfc3339(Instant(world.now + HOUR + number))
    documents: dict[str, dict[str, Any]] = {
        "own calendars": {"every": "PT15M", "anchor": soon, "exclude": holidays(number)},
        "one calendar": {"every": "PT15M", "anchor": soon, "exclude": holidays(0)},
        "one-time": {"at": soon, "exclude": holidays(number)},
        "long cron": {"cron": long_cron(number)},
        "plain": {"every": "PT15M", "anchor": soon},
    }
    return documents[kind]


@pytest.mark.parametrize("kind", ["own calendars", "one calendar", "one-time", "long cron", "plain"])
def test_what_a_node_holds_is_counted_with_what_it_weighs(kind: str) -> None:
    world = World()
    shard = empty(world)
    before = bytes_of(shard)
    for number in range(400):
        shard.absorb(stored(world, f"job-{number}", **worst(world, kind, number)), world.now)
    assert shard.resident_count == 400
    assert bytes_of(shard) - before <= MOST_BYTES * shard.held_count


def test_a_calendar_that_many_have_is_kept_once_until_the_last_of_them_leaves() -> None:
    world = World()
    shard = empty(world)
    entries = [stored(world, f"job-{number}", **worst(world, "one calendar", number)) for number in range(10)]
    for entry in entries:
        shard.absorb(entry, world.now)
    calendars = {id(each.schedule.exclude) for each in shard.past.residents.values() if each.schedule is not None}
    assert len(calendars) == 1
    assert shard.held_count == 10 + 20

    for entry in entries:
        held = shard.held_count
        shard.absorb(replace(entry, generation=entry.generation + 1, schedule=None), world.now)
        assert held - shard.held_count == (1 if entry is not entries[-1] else 21)
    assert shard.held_count == 0


def test_calendars_that_do_not_fit_cost_no_slot() -> None:
    world = World()
    world.entries = MemoryEntryStore(world.tables, page_size=5)
    most = 200
    jobs = [
        world.create(
            f"job-{number}",
            every="PT8M",
            anchor=to_rfc3339(Instant(world.now + number * 10 * SECOND)),
            exclude=holidays(number),
        )
        for number in range(1, 41)
    ]
    node = world.start_node("a", settings={"most_residents": most})
    most_held = 0
    for _ in range(60):
        world.run(10 * SECOND)
        most_held = max(most_held, node.owned.held_count)
    # Those that fire within the shortest residency, and a page of each shard; not all, which weigh 840.
    assert most_held <= 560
    assert {each.job_key for each in world.sent} == {job.job_key for job in jobs}
    assert max(each.enqueued_at - each.fire_at for each in world.sent) <= 0


def test_only_short_documents_are_kept_for_rows_that_have_the_same() -> None:
    """Thousands of long ones, which few rows share, would take more memory than a node has."""
    world = World()
    short, long = (
        write_entry(entry_of(world.create(kind, **worst(world, kind, 1)), shard_count=1))
        for kind in ("plain", "own calendars")
    )
    assert read_entry(short).schedule is read_entry(short).schedule
    assert read_entry(long).schedule == read_entry(long).schedule
    assert read_entry(long).schedule is not read_entry(long).schedule


def test_what_waits_for_a_lane_is_bounded_in_bytes_too() -> None:
    """Each slot of another job, whose names are as long as they may be: five thousand take some megabytes."""
    world, outbox = World(), Outbox(patience=1.0, catch_up_per_second=100.0)
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    for number in range(500):
        entry = stored(world, f"{number}".rjust(64, "j"), at=to_rfc3339(Instant(world.now + HOUR + number)))
        entry = replace(entry, trace=trace + str(number), run_id=f"{number}".rjust(64, "r"))
        slot = Instant(world.now + number)
        outbox.put([Due(0, entry, slot, slot, RunKind.MANUAL, lane="default")], at=0.0)

    assert bytes_of(outbox) <= 500 * BYTES_OF_WAITING
    assert MOST_WAITING * BYTES_OF_WAITING <= 10_000_000
