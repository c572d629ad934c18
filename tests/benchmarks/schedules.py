"""Slots of common expressions beside plain croniter and cronsim, in microseconds; what requests and outages cost.

    python -P -m tests.benchmarks.schedules [--slots 2000] [--runs 3]

Each row takes the next slots one after the other from a fixed start, as a scheduler does; the first call of every
library is outside the measure, since all keep what they parsed. CPU time. croniter and cronsim are asked for the same
local times in the same zone; where they differ in the answer is not shown here (`time_cases.json` shows it). cronsim is
left out where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice

from croniter import croniter

from shared.domain.errors import InvalidRequest
from shared.domain.instants import DAY, Instant, parse_rfc3339, to_datetime
from shared.domain.schedules import decode, encode, fire_at, missed, parse_schedule, slots, zone
from shared.domain.schedules.cron_parse import parse_cron
from tests.benchmarks.outcome import Bench, Cell, Table, medians

START = parse_rfc3339("2026-01-15T12:34:56Z")
REQUEST_BUDGET_MS, OUTAGE_BUDGET_MS = 50, 50

EXPRESSIONS = [
    ("* * * * *", "UTC"),
    ("*/5 * * * *", "Europe/Berlin"),
    ("0 * * * *", "America/New_York"),
    ("30 2 * * *", "Europe/Berlin"),
    ("0 9 * * MON-FRI", "America/New_York"),
    ("0 0 1,15 * *", "Asia/Kolkata"),
    ("0 0 1 1 *", "UTC"),
    ("0 0 * * 5#2", "UTC"),
]
#: Requests that make the parser or the search work hardest.
HARD: list[dict[str, object]] = [
    {"cron": "*/5 2 * 3 0L", "timezone": "Europe/Berlin"},
    {"cron": "0 0 29 2 */7", "timezone": "America/Santiago"},
    {"cron": "cron(59 23 ? 2 7#5 2072-2199)", "timezone": "Asia/Gaza"},
    {"cron": "*/7 * * * *", "timezone": "Asia/Gaza", "max_runs": 1_000_000},
    {"cron": "0 0 1 1 *", "timezone": "Europe/Paris", "max_runs": 49},
    {"cron": "0-59,0-59,0-59,0-59,0-59 " * 4 + "*", "timezone": "UTC"},
]


def microseconds(work: Callable[[], object], count: int) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) / count * 1e6


def exhaust(iterator: Iterator[object], count: int) -> None:
    for _ in islice(iterator, count):
        pass


def ours(expression: str, zone_name: str, count: int) -> float:
    coming = slots(parse_schedule({"cron": expression, "timezone": zone_name}, now=START), START)
    next(coming)
    return microseconds(lambda: exhaust(coming, count), count)


def plain_croniter(expression: str, zone_name: str, count: int) -> float:
    them = croniter(expression, to_datetime(START).astimezone(zone(zone_name)))
    them.get_next(datetime)
    return microseconds(lambda: exhaust(iter(lambda: them.get_next(datetime), None), count), count)


def plain_cronsim(expression: str, zone_name: str, count: int) -> float | None:
    try:
        cronsim = importlib.import_module("cronsim")
    except ModuleNotFoundError:
        return None
    them = cronsim.CronSim(expression, to_datetime(START).astimezone(zone(zone_name)))
    next(them)
    return microseconds(lambda: exhaust(them, count), count)


def hardest_request() -> tuple[float, str]:
    """(ms, which): every cache cold for its expression."""
    worst = (0.0, "")
    for document in HARD:
        parse_cron.cache_clear()
        start = time.process_time()
        with suppress(InvalidRequest):
            parse_schedule(document, now=START)
        worst = max(worst, ((time.process_time() - start) * 1e3, str(document)))
    return worst


def outage_of_a_year() -> float:
    """ms to learn what a year of missed seconds was."""
    every_second = parse_schedule({"cron": "* * * * * *", "seconds": True, "timezone": "Europe/Berlin"}, now=START)
    until = Instant(START + 365 * DAY)
    return microseconds(lambda: missed(every_second, START, until, newest=1001), 1) / 1e3


def small_things(count: int) -> dict[str, float]:
    """us: loading a stored schedule, and a fire with and without a window."""
    plain = parse_schedule({"cron": "*/5 * * * *", "timezone": "Europe/Berlin"}, now=START)
    spread = parse_schedule({"cron": "*/5 * * * *", "timezone": "Europe/Berlin", "window": "PT1M"}, now=START)
    stored = encode(plain)
    return {
        "decode": microseconds(lambda: [decode(stored) for _ in range(count)], count),
        "fire_at without window": microseconds(lambda: [fire_at(plain, "o/j", START) for _ in range(count)], count),
        "fire_at with window": microseconds(lambda: [fire_at(spread, "o/j", START) for _ in range(count)], count),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    bench = Bench("schedules")
    rows: list[list[Cell]] = []
    for expression, zone_name in EXPRESSIONS:
        # Two hundred slots of a yearly job are two hundred years.
        few = min(chosen.slots, 200) if expression.endswith(("1 *", "5#2")) else chosen.slots
        rows.append(
            [
                f"`{expression}` {zone_name}",
                *[median_of(lambda: run(expression, zone_name, few), chosen.runs) for run in LIBRARIES],  # noqa: B023
            ]
        )
    hardest, outage = hardest_request(), median_of(outage_of_a_year, chosen.runs)
    things = medians([small_things(chosen.slots) for _ in range(chosen.runs)])
    others: list[list[Cell]] = [
        [f"the hardest request, {hardest[1]}, ms", hardest[0], REQUEST_BUDGET_MS],
        ["a year of missed seconds, ms", outage, OUTAGE_BUDGET_MS],
        *([f"{name}, us", us, None] for name, us in things.items()),
    ]
    bench.report(
        runs=chosen.runs,
        figures={"slot_us": max(float(row[1] or 0) for row in rows), "hardest_request_ms": hardest[0]},
        tables=[
            Table("The next slot of a schedule, us", ("schedule", "Carillon", "croniter", "cronsim"), rows),
            Table("Other work with schedules", ("what", "measured", "budget"), others, in_readme=False),
        ],
    )


def median_of(measure: Callable[[], float | None], runs: int) -> float | None:
    found = [value for _ in range(runs) if (value := measure()) is not None]
    return statistics.median(found) if found else None


LIBRARIES: tuple[Callable[[str, str, int], float | None], ...] = (ours, plain_croniter, plain_cronsim)


if __name__ == "__main__":
    main()
