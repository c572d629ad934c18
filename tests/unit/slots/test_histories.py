"""Random histories of one job, by API hosts whose clocks differ, beside a simple model of which slots are owed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from functions.api.generations import agreed
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from tests.unit.api.world import HTTP
from tests.unit.slots.whole import PATH, Whole, whole

#: Of the host that serves a change. One that is far off goes by the store's clock.
CLOCKS_OFF_MS = (0, 0, -45 * SECOND, 3 * SECOND, 45 * SECOND)
CHANGES_OF_NO_SLOT: tuple[dict[str, Any], ...] = (
    {"misfire": {"policy": "fire_all", "limit": 50}},
    {"misfire": {"policy": "fire_once"}},
    {"lane": "long"},
    {"lane": "default"},
    {"timeout": "PT5M"},
    {"payload": 7},
    {"schedule": {"exclude": [{"date": "2030-01-01", "reason": "holiday"}]}},
)


@dataclass
class Model:
    """A slot is owed while its job is active, by its schedule of then; those of a pause are recorded."""

    owed: set[int] = field(default_factory=set)
    in_pause: set[int] = field(default_factory=set)
    #: Of the schedule: its first slot, and how far apart they are.
    grid: tuple[int, int] = (0, SECOND)
    active_from: int | None = None
    paused_at: int | None = None

    def slots(self, since: int, until: int) -> set[int]:
        anchor, interval = self.grid
        return {
            anchor + k * interval
            for k in range((until - anchor) // interval + 1)
            if since <= anchor + k * interval < until
        }

    def stop(self, now: int) -> None:
        if self.active_from is not None:
            self.owed |= self.slots(self.active_from, now)
        self.active_from = None

    def pause(self, now: int, by: int) -> None:
        self.stop(now)
        self.paused_at = by

    def resume(self, by: int) -> None:
        assert self.paused_at is not None
        self.active_from = max(by, self.paused_at)
        self.in_pause |= self.slots(self.paused_at, self.active_from)
        self.paused_at = None

    def move(self, now: int, by: int, grid: tuple[int, int]) -> None:
        if self.active_from is not None:
            self.stop(max(now, self.active_from))
            self.active_from = by
        self.grid = grid


class History:
    def __init__(self, rig: Whole, random: Random) -> None:
        self.rig, self.random, self.model = rig, random, Model()
        self.create()

    def create(self) -> None:
        self.model.grid = self._grid()
        self.rig.send("POST", "/v1/jobs", {"job_id": "j", "target": HTTP, "schedule": self._schedule()})
        self.model.active_from = self.now
        self.model.paused_at = None

    @property
    def now(self) -> int:
        return self.rig.clock.now()

    def _grid(self) -> tuple[int, int]:
        start = self.now - self.now % SECOND
        return start + self.random.randint(1, 4) * SECOND, self.random.randint(1, 4) * SECOND

    def _schedule(self) -> dict[str, Any]:
        anchor, interval = self.model.grid
        return {"every": f"PT{interval // SECOND}S", "anchor": to_rfc3339(Instant(anchor))}

    def step(self) -> None:
        off_ms = self.random.choice(CLOCKS_OFF_MS)
        by = agreed(Instant(self.now + off_ms), Instant(self.now))
        getattr(self, self.random.choice(("toggle", "toggle", "touch", "touch", "declare", "move", "recreate")))(
            off_ms, by
        )

    def toggle(self, off_ms: int, by: int) -> None:
        is_paused = self.model.paused_at is not None
        self.rig.send("POST", f"{PATH}/{'resume' if is_paused else 'pause'}", off_ms=off_ms)
        if is_paused:
            self.model.resume(by)
        else:
            self.model.pause(self.now, by)

    def touch(self, off_ms: int, _: int) -> None:
        self.rig.send("PATCH", PATH, self.random.choice(CHANGES_OF_NO_SLOT), off_ms=off_ms)

    def declare(self, off_ms: int, _: int) -> None:
        shown = self.rig.send("GET", PATH).json
        before = self.rig.api.contents()
        members = {name: shown[name] for name in ("target", "schedule", "payload", "lane", "timeout", "misfire")}
        self.rig.send("PUT", PATH, members, off_ms=off_ms)
        assert self.rig.api.contents() == before

    def move(self, off_ms: int, by: int) -> None:
        if by > self.now:
            # Until then the two schedules may agree.
            off_ms, by = 0, self.now
        old, self.model.grid = self.model.grid, self._grid()
        self.rig.send("PATCH", PATH, {"schedule": self._schedule()}, off_ms=off_ms)
        new, self.model.grid = self.model.grid, old
        self.model.move(self.now, by, new)

    def recreate(self, off_ms: int, _: int) -> None:
        self.rig.send("DELETE", PATH, off_ms=off_ms)
        self.model.stop(self.now)
        self.rig.run(self.random.randint(0, 2))
        self.create()


@pytest.mark.parametrize("seed", range(10))
def test_every_owed_slot_runs_once_and_no_other(seed: int) -> None:
    rig, random = whole(), Random(seed)
    # Between two slots, so that no slot is at the instant of a change.
    rig.run(1.5)
    history = History(rig, random)
    model = history.model

    for _ in range(12):
        rig.run(random.randint(4, 9))
        history.step()
    rig.run(8)
    model.stop(rig.clock.now())
    rig.run(4)

    late = rig.clock.now() - 4 * SECOND
    started = [slot for slot in rig.slots if slot < late]
    assert started == sorted(set(started))
    assert set(started) == {slot for slot in model.owed if slot < late}
    gaps = [run.gap for run in rig.api.tables.runs.values() if run.gap is not None]
    own = {run.slot for run in rig.api.tables.runs.values() if run.gap is None}
    missing = {
        slot - slot // MINUTE * MINUTE
        for slot in model.in_pause
        if slot not in own and not any(gap.first <= slot <= gap.last for gap in gaps)
    }
    assert missing == set()
