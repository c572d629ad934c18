"""Hosts: a clock of their own, and the ways in which they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from shared.domain.instants import SECOND, Instant
from shared.domain.timing import Timing
from tests.simulation.engine import Engine, Task

#: A node whose clock is further off than this does nothing.
_CLOCK_GUARD_MS = Timing().clock_guard_ms

When = Literal["before", "after"]


@dataclass(slots=True)
class Strike:
    """Happens at the `calls`-th call of a port from now, before or after it took effect."""

    calls: int
    when: When
    #: A pause of so long; None is the end.
    pause_ms: int | None


@dataclass(eq=False, slots=True)
class Host:
    """A process on a machine. `offset_ms` is the error of its wall clock."""

    name: str
    engine: Engine
    offset_ms: int = 0
    is_alive: bool = True
    is_paused: bool = False
    #: It runs the next version of Carillon, which says more than this one knows.
    is_newer: bool = False
    #: What it cannot reach: `db`, `sqs`.
    cut: set[str] = field(default_factory=set)
    strike: Strike | None = None
    #: An API call is ended by then (true time), whatever it is doing.
    ends_at: int | None = None
    tasks: list[Task] = field(default_factory=list)
    deferred: list[Task] = field(default_factory=list)
    booted_at: int = field(init=False)
    #: True time at which it last was unable to do its work, but for faults of the store.
    troubled_at: int = -(10**15)
    on_death: Callable[[], None] | None = None
    #: Asked when one more thread is to start.
    lacks_threads: Callable[[], bool] = lambda: False
    #: Asked when a thread looks at the clock: for how long others have their turn first; 0 is not at all.
    preempted_ms: Callable[[], int] = lambda: 0

    def preempt(self) -> None:
        """A thread may lose the processor between any two of its instructions: here, where it looks at the clock."""
        if self.engine.current is not None and (duration_ms := self.preempted_ms()):
            self.engine.sleep(duration_ms)

    def __post_init__(self) -> None:
        self.booted_at = self.engine.now

    def kill(self) -> None:
        """From outside, or from one of its own tasks, which then must raise Killed."""
        if self.is_alive:
            self.is_alive = False
            self.troubled_at = self.engine.now
            self.engine.at(self.engine.now, lambda: self.engine.end(self))
            if self.on_death is not None:
                self.on_death()

    def set_clock(self, offset_ms: int) -> None:
        """Who was wrong is well again only some time after."""
        self.offset_ms = offset_ms
        self.troubled_at = self.engine.now

    def pause(self, duration_ms: int) -> None:
        if not self.is_paused and self.is_alive:
            self.is_paused = True
            self.engine.after(duration_ms, self.resume)

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self.troubled_at = self.engine.now
            self.engine.resume_all(self)

    def is_well(self, *, since_ms: int) -> bool:
        """It could do its work for so long, as far as it depends on itself."""
        if abs(self.offset_ms) > _CLOCK_GUARD_MS:
            return False
        return self.is_alive and not self.is_paused and not self.cut and self.engine.now - self.troubled_at >= since_ms


@dataclass(slots=True)
class HostClock:
    """The clock of one host; monotonic time starts at its boot."""

    host: Host

    def now(self) -> Instant:
        now = Instant(self.host.engine.now + self.host.offset_ms)
        self.host.preempt()
        return now

    def monotonic(self) -> float:
        return (self.host.engine.now - self.host.booted_at) / SECOND

    def sleep(self, seconds: float) -> None:
        self.host.engine.sleep(-int(-seconds * SECOND // 1))


@dataclass(slots=True)
class TrueClock:
    """Of tables and queues."""

    engine: Engine

    def now(self) -> Instant:
        return Instant(self.engine.now)

    def monotonic(self) -> float:
        return self.engine.now / SECOND

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"a store slept {seconds} s")
