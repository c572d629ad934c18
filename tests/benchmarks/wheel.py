"""The timing wheel beside a heap, a calendar and asyncio's timers: operations a second, bytes a timer, worst step.

    python -P -m tests.benchmarks.wheel [--sizes 100000 1000000] [--runs 3] [--only wheel]

The work: timers due at random over one hour, a fifth cancelled, a fifth rescheduled, then the hour is walked in steps
of 10 ms; every live timer must come out exactly once and never early. `expire` is timers a second over the whole walk,
empty steps included. `step` is the worst step of such a walk, `burst` that of 100,000 timers in one tick, `cascade`
that of all timers being 3 to 4 hours away, where the wheel has one wide bucket to open. A step is one call of at most
1,000 timers, where the store has such a limit. All in CPU time, so that neighbours on the machine count less. Bytes are
all in (the key of 32 characters, its instant and the store), as the process grows, with what the allocator does not
give back; the budget is held against what is allocated.
"""

from __future__ import annotations

import argparse
import gc
import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from functions.scheduler.wheel import TimingWheel
from tests.benchmarks.outcome import ROOT, Bench, Cell, Table, medians, per_second
from tests.benchmarks.timer_stores import AsyncioTimers, Calendar, Heap

TICK_MS = 10
HOUR_MS = 3_600_000
START_MS = 1_800_000_000_000
LIMIT = 1_000
BURST = 100_000
#: What the budget speaks of; and of so many the bytes are weighed too.
LARGE, MOST = 1_000_000, 5_000_000

COLUMNS = ("insert", "cancel", "reschedule", "expire", "bytes", "step_ms", "burst_ms", "cascade_ms")

#: What takes minutes with more timers than this.
SLOW = {"asyncio call_later": 100_000}

Timers = dict[str, int]


class TimerStore(Protocol):
    def schedule(self, key: str, due_ms: int) -> None: ...
    def cancel(self, key: str) -> bool: ...
    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]: ...


#: A store for a walk that begins at that instant.
Make = Callable[[int], TimerStore]

STORES: dict[str, Make] = {
    "wheel": lambda start_ms: TimingWheel(tick_ms=TICK_MS, start_ms=start_ms),
    "heapq, lazy deletion": lambda _: Heap(),
    "calendar dict": lambda start_ms: Calendar(tick_ms=TICK_MS, start_ms=start_ms),
    "asyncio call_later": lambda start_ms: AsyncioTimers(start_ms=start_ms),
}


@lru_cache(maxsize=1)
def timers(count: int, seed: int) -> Timers:
    """Made once for all stores."""
    dice = random.Random(seed)
    return {f"{dice.getrandbits(128):032x}": START_MS + dice.randrange(HOUR_MS) for _ in range(count)}


def rate(count: int, work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return per_second(count, time.process_time() - began)


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


def worst_step(store: TimerStore, live: Timers, begin_ms: int, end_ms: int) -> float:
    """Milliseconds of CPU of the worst step."""
    worst = 0.0
    for now_ms, step in steps(store, begin_ms, end_ms):
        began = time.thread_time()
        expired = step()
        worst = max(worst, time.thread_time() - began)
        strike(live, expired, now_ms)
    return worst * 1e3


def schedule_all(store: TimerStore, batch: Timers) -> None:
    for key, due_ms in batch.items():
        store.schedule(key, due_ms)


def hour(make: Make, count: int, seed: int) -> tuple[TimerStore, Timers, dict[str, float]]:
    """A store filled, thinned and stirred; the timers that live in it; operations a second."""
    live, dice = dict(timers(count, seed)), random.Random(seed)
    cancelled = dice.sample(list(live), count // 5)
    moved = {key: START_MS + dice.randrange(HOUR_MS) for key in dice.sample(list(live), count // 5)}
    store = make(START_MS)

    def cancel_all() -> None:
        for key in cancelled:
            store.cancel(key)

    speed = {
        "insert": rate(count, lambda: schedule_all(store, live)),
        "reschedule": rate(len(moved), lambda: schedule_all(store, moved)),
        "cancel": rate(len(cancelled), cancel_all),
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

    speed = rate(len(live), walk)
    if came != len(live):
        raise SystemExit(f"{came} timers came out of {len(live)}")
    return speed


def walk_step(make: Make, count: int, seed: int) -> float:
    """Of the first ten minutes of the hour, which are like the others."""
    live, store = dict(timers(count, seed)), make(START_MS)
    schedule_all(store, live)
    return worst_step(store, live, START_MS, START_MS + HOUR_MS // 6)


def burst_step(make: Make) -> float:
    burst_ms = START_MS + HOUR_MS // 2
    crowd = {f"{number:032x}": burst_ms + number % TICK_MS for number in range(BURST)}
    store = make(burst_ms - 60_000)
    schedule_all(store, crowd)
    worst = worst_step(store, crowd, burst_ms - 60_000, burst_ms + 60_000)
    if crowd:
        raise SystemExit(f"{len(crowd)} timers never came out")
    return worst


def cascade_step(make: Make, count: int, seed: int) -> float:
    """Around the instant at which a bucket of 2**20 ticks begins, with every timer in it."""
    edge_ms = (START_MS // (TICK_MS << 20) + 2) * (TICK_MS << 20)
    far = {key: edge_ms + due_ms - START_MS for key, due_ms in timers(count, seed).items()}
    store = make(edge_ms - 10_000)
    schedule_all(store, far)
    return worst_step(store, far, edge_ms - 10_000, edge_ms + 20_000)


def run(make: Make, count: int, seed: int) -> dict[str, float]:
    store, live, result = hour(make, count, seed)
    result["expire"] = expire_speed(store, live)
    result["step_ms"] = walk_step(make, count, seed)
    result["burst_ms"] = burst_step(make)
    result["cascade_ms"] = cascade_step(make, count, seed)
    return result


def weigh(name: str, count: int, how: str) -> float:
    """Bytes of a timer, in a process of its own: by what it `grows`, or by what Python `allocates` in it."""
    command = [sys.executable, "-P", "-m", "tests.benchmarks.wheel", "--weigh", name, how, "--sizes", str(count)]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def weighed(make: Make, count: int, how: str) -> float:
    dice, before = random.Random(0), resident_bytes()
    if how == "allocates":
        tracemalloc.start()
    store = make(START_MS)
    for _ in range(count):
        store.schedule(f"{dice.getrandbits(128):032x}", START_MS + dice.randrange(HOUR_MS))
    size = tracemalloc.get_traced_memory()[0] if how == "allocates" else resident_bytes() - before
    return size / count


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) << 10


def measure(names: list[str], count: int, runs: int) -> dict[str, dict[str, float]]:
    names = [name for name in names if count <= SLOW.get(name, count)]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for seed in range(runs):
        for name in names:
            gc.collect()
            found[name].append(run(STORES[name], count, seed))
    return {name: {**medians(found[name]), "bytes": weigh(name, count, "grows")} for name in names}


def table(count: int, found: dict[str, dict[str, float]]) -> Table:
    heads = [column.replace("_ms", ", ms") if "_ms" in column else column for column in COLUMNS]
    rows: list[list[Cell]] = [[name, *[figures[column] for column in COLUMNS]] for name, figures in found.items()]
    note = (
        "Operations a second; bytes of a timer with its key; the worst step "
        "over an hour, with 100,000 in one tick, and when all timers come near at once. CPU time."
    )
    title = f"Timers: {count:,}, over one hour, in steps of {TICK_MS} ms"
    return Table(title, ("store", *heads), rows, note, in_readme=count == LARGE)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--only", choices=list(STORES), nargs="+", default=list(STORES))
    options.add_argument("--weigh", nargs=2, help="a store, and grows or allocates: its bytes a timer, nothing else")
    chosen: Any = options.parse_args()
    if chosen.weigh:
        name, how = chosen.weigh
        sys.stdout.write(f"{weighed(STORES[name], chosen.sizes[0], how)}\n")
        return
    bench = Bench("wheel")
    found = {count: measure(chosen.only, count, chosen.runs) for count in chosen.sizes}
    wheel = {count: figures["wheel"] for count, figures in found.items() if "wheel" in figures}
    weights = [(f"{count:,}", figures["bytes"]) for count, figures in wheel.items()]
    weights.append((f"{MOST:,}", weigh("wheel", MOST, "grows")))
    figures = wheel.get(LARGE, {})
    bench.report(
        runs=chosen.runs,
        figures={
            **{NAMES[column]: figures[column] for column in NAMES if column in figures},
            "bytes_per_timer": weigh("wheel", LARGE, "allocates"),
        },
        tables=[
            *(table(count, each) for count, each in found.items()),
            Table(
                "Bytes a process grows by for each timer in the wheel", ("timers", "bytes"), weights, in_readme=False
            ),
        ],
    )


#: Of the columns that have a budget.
NAMES = {
    "insert": "insert_per_s",
    "cancel": "cancel_per_s",
    "reschedule": "reschedule_per_s",
    "expire": "expire_per_s",
    "step_ms": "step_ms",
    "burst_ms": "burst_step_ms",
    "cascade_ms": "cascade_step_ms",
}


if __name__ == "__main__":
    main()
