"""The timing wheel beside a heap and a calendar: operations a second, bytes a timer, worst step.

    python -P -m tests.benchmarks.wheel [--sizes 100000 1000000] [--runs 3]

The work: timers due at random over one hour, a fifth cancelled, a fifth rescheduled, then the hour is walked in steps
of 10 ms; every live timer must come out exactly once and never early. `expire` is timers a second over the whole walk,
empty steps included. The burst: all timers in one tick, met in steps of 10 ms. A step is one call of at most 1,000
timers. Speed and worst step are CPU time, so that neighbours on the machine count less; the worst by the wall is beside
it. Bytes are all in: the key (32 characters), its instant and the store. Prints a table, then JSON.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import json
import os
import platform
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Protocol

from functions.scheduler.wheel import TimingWheel

TICK_MS = 10
HOUR_MS = 3_600_000
START_MS = 1_800_000_000_000
LIMIT = 1_000
BUDGET = {"insert": 500_000, "cancel": 500_000, "expire": 500_000, "bytes": 200, "step_ms": 5, "burst_ms": 5}

COLUMNS = (
    *("insert", "cancel", "reschedule", "expire", "bytes"),
    *("step_ms", "step_wall_ms", "burst_ms", "burst_wall_ms"),
)

Timers = dict[str, int]


class TimerStore(Protocol):
    def schedule(self, key: str, due_ms: int) -> None: ...
    def cancel(self, key: str) -> bool: ...
    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]: ...


class Heap:
    """`heapq` with lazy deletion: a cancelled timer stays in the heap until its time comes."""

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def schedule(self, key: str, due_ms: int) -> None:
        self._due[key] = due_ms
        heapq.heappush(self._heap, (due_ms, key))

    def cancel(self, key: str) -> bool:
        return self._due.pop(key, None) is not None

    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]:
        expired: list[tuple[str, int]] = []
        while self._heap and self._heap[0][0] <= now_ms and len(expired) < limit:
            due_ms, key = heapq.heappop(self._heap)
            if self._due.get(key) == due_ms:
                del self._due[key]
                expired.append((key, due_ms))
        return expired


class Calendar:
    """A dict for each tick, all ticks in one dict. Walks every tick; is never early because it is a tick late."""

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._ticks: dict[int, dict[str, int]] = {}
        self._next = START_MS // TICK_MS

    def schedule(self, key: str, due_ms: int) -> None:
        old_ms = self._due.get(key)
        if old_ms is not None:
            self._remove(key, old_ms)
        self._due[key] = due_ms
        self._ticks.setdefault(due_ms // TICK_MS, {})[key] = due_ms

    def cancel(self, key: str) -> bool:
        due_ms = self._due.pop(key, None)
        if due_ms is not None:
            self._remove(key, due_ms)
        return due_ms is not None

    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]:
        expired: list[tuple[str, int]] = []
        while self._next < now_ms // TICK_MS:
            bucket = self._ticks.get(self._next)
            while bucket and len(expired) < limit:
                expired.append(bucket.popitem())
            if bucket:
                break
            self._ticks.pop(self._next, None)
            self._next += 1
        for key, _ in expired:
            del self._due[key]
        return expired

    def _remove(self, key: str, due_ms: int) -> None:
        bucket = self._ticks[due_ms // TICK_MS]
        del bucket[key]
        if not bucket:
            del self._ticks[due_ms // TICK_MS]


STORES: dict[str, Callable[[], TimerStore]] = {
    "wheel": lambda: TimingWheel(tick_ms=TICK_MS, start_ms=START_MS),
    "heapq, lazy deletion": Heap,
    "calendar dict": Calendar,
}


def timers(count: int, dice: random.Random) -> Timers:
    return {f"{dice.getrandbits(128):032x}": START_MS + dice.randrange(HOUR_MS) for _ in range(count)}


def per_second(count: int, work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return count / (time.process_time() - began)


def steps(store: TimerStore, begin_ms: int, end_ms: int) -> Iterator[tuple[int, Callable[[], list[tuple[str, int]]]]]:
    """Each 10 ms a call of `expire`, and more while the answer is full."""
    full = False

    def step() -> list[tuple[str, int]]:
        nonlocal full
        expired = store.expire(now_ms, limit=LIMIT)
        full = len(expired) == LIMIT
        return expired

    for now_ms in range(begin_ms, end_ms + 1, TICK_MS):
        yield now_ms, step
        while full:
            yield now_ms, step


def strike(live: Timers, expired: list[tuple[str, int]], now_ms: int) -> None:
    """Take the expired out of the living; stop if one is early, unknown or there for a second time."""
    for key, due_ms in expired:
        if live.pop(key, None) != due_ms or due_ms > now_ms:
            raise SystemExit(f"{key} due at {due_ms} came out at {now_ms}")


def worst_step(store: TimerStore, live: Timers, begin_ms: int, end_ms: int) -> tuple[float, float]:
    """Milliseconds of the worst step by CPU and by the wall."""
    worst_cpu = worst_wall = 0.0
    for now_ms, step in steps(store, begin_ms, end_ms):
        wall, cpu = time.perf_counter(), time.thread_time()
        expired = step()
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        worst_cpu, worst_wall = max(worst_cpu, cpu), max(worst_wall, wall)
        strike(live, expired, now_ms)
    if live:
        raise SystemExit(f"{len(live)} timers never came out")
    return worst_cpu * 1e3, worst_wall * 1e3


def schedule_all(store: TimerStore, batch: Timers) -> None:
    for key, due_ms in batch.items():
        store.schedule(key, due_ms)


def hour(make: Callable[[], TimerStore], count: int, seed: int) -> tuple[TimerStore, Timers, dict[str, float]]:
    """A store filled, thinned and stirred; the timers that live in it; operations a second."""
    dice = random.Random(seed)
    live = timers(count, dice)
    cancelled = dice.sample(list(live), count // 5)
    moved = {key: START_MS + dice.randrange(HOUR_MS) for key in dice.sample(list(live), count // 5)}
    store = make()

    def cancel_all() -> None:
        for key in cancelled:
            store.cancel(key)

    speed = {
        "insert": per_second(count, lambda: schedule_all(store, live)),
        "reschedule": per_second(len(moved), lambda: schedule_all(store, moved)),
        "cancel": per_second(len(cancelled), cancel_all),
    }
    live |= moved
    for key in cancelled:
        del live[key]
    return store, live, speed


def expire_speed(store: TimerStore, live: Timers) -> float:
    came = 0

    def walk() -> None:
        nonlocal came
        for now_ms in range(START_MS, START_MS + HOUR_MS + 1_000, TICK_MS):
            while (expired := len(store.expire(now_ms, limit=LIMIT))) == LIMIT:
                came += expired
            came += expired

    speed = per_second(len(live), walk)
    if came != len(live):
        raise SystemExit(f"{came} timers came out of {len(live)}")
    return speed


def run(make: Callable[[], TimerStore], count: int, seed: int) -> dict[str, float]:
    store, live, result = hour(make, count, seed)
    result["expire"] = expire_speed(store, live)
    store, live, _ = hour(make, count, seed)
    result["step_ms"], result["step_wall_ms"] = worst_step(store, live, START_MS, START_MS + HOUR_MS + 1_000)
    burst_ms = START_MS + HOUR_MS // 2
    crowd = {key: burst_ms + due_ms % TICK_MS for key, due_ms in timers(count, random.Random(seed)).items()}
    store = make()
    schedule_all(store, crowd)
    result["burst_ms"], result["burst_wall_ms"] = worst_step(store, crowd, START_MS, burst_ms + 60_000)
    return result


def bytes_per_timer(make: Callable[[], TimerStore], count: int) -> float:
    dice = random.Random(0)
    tracemalloc.start()
    store = make()
    for _ in range(count):
        store.schedule(f"{dice.getrandbits(128):032x}", START_MS + dice.randrange(HOUR_MS))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / count


def measure(make: Callable[[], TimerStore], count: int, runs: int) -> dict[str, float]:
    results = []
    for seed in range(runs):
        gc.collect()
        results.append(run(make, count, seed))
    medians = {name: statistics.median(result[name] for result in results) for name in results[0]}
    return {**medians, "bytes": bytes_per_timer(make, count)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--only", choices=list(STORES), nargs="+", default=list(STORES))
    chosen = options.parse_args()
    load = os.getloadavg()
    write(f"{'timers':>9} {'store':22}" + "".join(f"{name:>14}" for name in COLUMNS))
    report = []
    for count in chosen.sizes:
        for name in chosen.only:
            row = measure(STORES[name], count, chosen.runs)
            report.append({"timers": count, "store": name, **{column: round(row[column], 2) for column in COLUMNS}})
            write(f"{count:>9,} {name:22}" + "".join(f"{row[column]:>14,.1f}" for column in COLUMNS))
    facts = {
        "python": platform.python_version(),
        "runs": chosen.runs,
        "load_before": load,
        "load_after": os.getloadavg(),
    }
    write(json.dumps({**facts, "budget_at_1000000": BUDGET, "results": report}, indent=2))


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
