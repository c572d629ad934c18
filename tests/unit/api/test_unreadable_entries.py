"""An entry that this release cannot read keeps nobody from its job: what it owes is known from the job itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.domain.instants import MINUTE, Instant
from shared.domain.keys import EntryKey
from shared.domain.schedules import Cron
from tests.later_release import OfALaterRelease
from tests.unit.api.world import World

PATH = "/v1/jobs/nightly-report"


class LaterEntries(MemoryEntryStore):
    def get(self, key: EntryKey) -> OfALaterRelease | None:  # type: ignore[override]
        entry = super().get(key)
        return None if entry is None else OfALaterRelease(entry)


@pytest.fixture
def world() -> World:
    world = World()
    world.entry_store = LaterEntries(world.tables)
    world.handler = world.process()
    world.create(schedule={"every": "PT1M"})
    return world


def in_an_unknown_zone(world: World) -> None:
    """As a node of a later release may have written it."""
    world.entry_store = MemoryEntryStore(world.tables)
    world.handler = world.process()
    world.tables.put_entry(replace(world.entry(), schedule=Cron(expression="* * * * *", timezone="Mars/Olympus")))


@pytest.mark.parametrize("is_decoded", [False, True])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{PATH}/pause", None),
        ("PATCH", PATH, {"schedule": {"every": "PT2M"}}),
        ("PATCH", PATH, {"misfire": {"policy": "skip"}}),
        ("DELETE", PATH, None),
        ("GET", f"{PATH}/explain", None),
    ],
)
def test_its_job_can_be_changed_and_explained(
    world: World, method: str, path: str, body: dict[str, Any] | None, *, is_decoded: bool
) -> None:
    if is_decoded:
        in_an_unknown_zone(world)
    world.clock.advance(3 * MINUTE)
    reply = world.send(method, path, body)
    assert reply.status == 200, reply.json


@pytest.mark.parametrize("is_parked", [False, True])
@pytest.mark.parametrize("is_fresh", [True, False])
def test_what_it_owes_is_owed_by_the_next_generation(world: World, *, is_fresh: bool, is_parked: bool) -> None:
    """Of a fresh one all since the creation, or since it was parked; of another what is behind the watermark."""
    created = world.job().from_at
    if is_parked:
        assert world.entry_store.move(world.entry().key, Instant(created + 90_000))
    if not is_fresh:
        world.entry_store.clear_fresh([world.entry().key])
    world.own_shards("node-1", watermark=Instant(created + 150_000))
    world.clock.advance(5 * MINUTE + 1)

    assert world.send("PATCH", PATH, {"misfire": {"policy": "skip"}}).status == 200

    number = 3 if not is_fresh else 2 if is_parked else 1
    assert world.job().from_at == created + number * MINUTE
