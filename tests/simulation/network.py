"""Between a host and a store: calls are slow, refused, lost on the way there or back, or arrive late.

A call that takes effect does so in one step; before and after it anything may happen to the host.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from shared.domain.errors import OutcomeUnknown, StoreContended, StoreError, StoreThrottled
from shared.domain.instants import SECOND
from tests.simulation.engine import Engine, Killed, Task
from tests.simulation.hosts import Host, Strike
from tests.simulation.profile import Profile

R = TypeVar("R")

#: Batches of which a part may take effect: their first argument can be cut.
CUTTABLE = frozenset({
    "runs.insert", "runs.finish", "runs.heartbeat", "runs.record", "entries.delete", "entries.clear_fresh",
})  # fmt: skip
#: Only these know a transaction that another holds up.
CONTENDED = frozenset({"jobs.write", "jobs.complete", "entries.move", "entries.delete"})
MOST_IN_A_ROW = 3
#: How often an operation in focus goes wrong; how often that is a fault, and not only slow; and how often it takes
#: seconds.
FOCUSED = 0.6
FAULTY = 0.6
LINGERS = 0.3
Note = Callable[[str, str, tuple[Any, ...], object], None]


class Odd(Exception):
    """No fault that an adapter knows: a bug of a library, a full disk, memory that runs out."""


class Network:
    def __init__(self, engine: Engine, random: Random, profile: Profile, note: Note | None) -> None:
        self.engine = engine
        self.random = random
        self.profile = profile
        self.note = note
        #: What nobody can reach: `db`, `sqs`.
        self.out: set[str] = set()
        #: No fault happens any more.
        self.is_healed = False
        self._rough = profile.slow + profile.faulty
        self._focus = profile.focus
        #: Faults in a row, by task: without other trouble an adapter's own retries win in the end.
        self._in_a_row: dict[Task | None, int] = {}

    def heal(self) -> None:
        self.out.clear()
        self.is_healed = True
        self._rough = 0.0
        self._focus = frozenset()

    def call(self, host: Host, service: str, operation: str, args: tuple[Any, ...], apply: Callable[..., R]) -> R:
        if not host.is_alive:
            raise Killed
        strike = self._strike_of(host)
        if strike is not None and strike.when == "before":
            self._strike(host, strike, operation)
        if service in host.cut or service in self.out:
            self._unreachable(operation)
        if self.profile.odd and not self.is_healed and self._is_odd(operation):
            self._odd(host, operation, args)
        if operation == "jobs.write" and self.random.random() < self.profile.slow_commits:
            self._wait(host, self.random.randint(0, self.random.choice([3, 30]) * SECOND))
        if self.random.random() < (FOCUSED if operation in self._focus else self._rough):
            answer = self._roughly(host, operation, args, apply)
        else:
            self._in_a_row.pop(self.engine.current, None)
            answer = apply(*args)
        if self.note is not None:
            self.note(host.name, operation, args, answer)
        if strike is not None and strike.when == "after":
            self._strike(host, strike, operation)
        return answer

    # Strikes ---------------------------------------------------------------------------------------------------------

    def _strike_of(self, host: Host) -> Strike | None:
        strike = host.strike
        if strike is None:
            return None
        strike.calls -= 1
        if strike.calls > 0:
            return None
        host.strike = None
        return strike

    def _strike(self, host: Host, strike: Strike, operation: str) -> None:
        what = "killed" if strike.pause_ms is None else f"paused {strike.pause_ms} ms"
        if self.note is not None:
            self.note(host.name, f"{what} {strike.when}", (operation,), None)
        if strike.pause_ms is None:
            host.kill()
            raise Killed
        host.pause(strike.pause_ms)
        self.engine.sleep(0)

    # Faults ----------------------------------------------------------------------------------------------------------

    def _unreachable(self, operation: str) -> None:
        self.engine.sleep(self.random.choice([50, 300, 1_000, 3_000]))
        if self.random.random() < 0.3:
            raise StoreThrottled(operation, "out")
        raise OutcomeUnknown(operation, "out")

    def _is_odd(self, operation: str) -> bool:
        calls = self.profile.odd_calls
        return (not calls or operation in calls) and self.random.random() < self.profile.odd

    def _odd(self, host: Host, operation: str, args: tuple[Any, ...]) -> None:
        if self.note is not None:
            self.note(host.name, f"{operation} odd", args, None)
        self._wait(host, self.latency_ms())
        raise Odd(operation)

    def _roughly(self, host: Host, operation: str, args: tuple[Any, ...], apply: Callable[..., R]) -> R:
        is_focused = operation in self._focus
        if self.random.random() * (1.0 if is_focused else self._rough) < (
            FAULTY if is_focused else self.profile.faulty
        ):
            task = self.engine.current
            self._in_a_row[task] = self._in_a_row.get(task, 0) + 1
            if self.profile.trouble_ms or self._in_a_row[task] < MOST_IN_A_ROW:
                raise self._fault(host, operation, args, apply)
        self._in_a_row.pop(self.engine.current, None)
        try:
            self._wait(host, self.latency_ms())
            if is_focused:
                self._linger(host)
        except Killed:
            # What was sent arrives, though the sender is dead.
            if self.random.random() < 0.5:
                apply(*args)
            raise
        answer = apply(*args)
        self._wait(host, self.latency_ms())
        if is_focused:
            self._linger(host)
        return answer

    def _linger(self, host: Host) -> None:
        """Now and then long enough for other loops to have their turn."""
        if self.random.random() < LINGERS:
            self._wait(host, self.random.choice([200, 500, 1_000, 3_000, 10_000]))

    def _fault(self, host: Host, operation: str, args: tuple[Any, ...], apply: Callable[..., R]) -> StoreError:
        kind = self.random.choice(["throttled", "contended", "lost", "applied", "applied", "late", "partly"])
        if self.note is not None:
            self.note(host.name, f"{operation} {kind}", args, None)
        self._wait(host, self.latency_ms())
        if operation in self._focus:
            self._linger(host)
        if kind == "throttled":
            return StoreThrottled(operation, "simulated")
        if kind == "contended" and operation in CONTENDED:
            return StoreContended(operation, "simulated")
        if kind == "applied":
            apply(*args)
        elif kind == "late":
            delay_ms = self.random.randint(0, 5 * SECOND)
            if host.ends_at is not None:
                delay_ms = max(min(delay_ms, host.ends_at - self.engine.now), 0)
            self.engine.after(delay_ms, lambda: self._apply_late(host, operation, args, apply))
        elif kind == "partly" and operation in CUTTABLE:
            items = list(args[0])
            apply([item for item in items if self.random.random() < 0.5])
        self._wait(host, self.latency_ms())
        return OutcomeUnknown(operation, f"simulated: {kind}")

    def _apply_late(self, host: Host, operation: str, args: tuple[Any, ...], apply: Callable[..., R]) -> None:
        answer = apply(*args)
        if self.note is not None:
            self.note(host.name, f"{operation} late", args, answer)

    def latency_ms(self) -> int:
        dice = self.random.random()
        if dice < 0.7 or self.profile.is_calm:
            return self.random.randint(1, 30)
        return self.random.randint(30, 500) if dice < 0.95 else self.random.randint(500, 4_000)

    def _wait(self, host: Host, duration_ms: int) -> None:
        if host.ends_at is not None and self.engine.now + duration_ms > host.ends_at:
            host.kill()
            raise Killed
        self.engine.sleep(duration_ms)
