"""The product against `reference`: CARILLON_DIFFERENTIAL random (expression, zone, stretch) triples.

A full run has 20,000 of them.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from random import Random

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant, to_datetime, to_instant
from shared.domain.schedules import Cron, Schedule, count_slots, next_slot, slots, zone_names
from shared.domain.schedules.cron_parse import parse_cron
from tests.unit.schedules import expressions
from tests.unit.schedules.moments import judge
from tests.unit.schedules.reference import Minute, Reference, load_zone, minutes_of

TRIPLES = int(os.environ.get("CARILLON_DIFFERENTIAL", "1000"))
PER_STRETCH = 20
MINUTES_PER_STRETCH = 3 * 24 * 60
ZONES = sorted(zone_names())
#: Before that some zones kept seconds in their offset, so that no real minute is a local one.
FIRST_DAY = datetime(1975, 1, 1, tzinfo=UTC)
DAYS = 115 * 365


def stretch(random: Random) -> tuple[str, list[Minute]]:
    """Three days of a random zone, mostly around a change of its clock."""
    name = random.choice(ZONES)
    zone = load_zone(name)
    start = FIRST_DAY + timedelta(days=random.randrange(DAYS))
    if random.random() < 0.75:
        days = (start + timedelta(days=ahead) for ahead in range(400))
        offset = start.astimezone(zone).utcoffset()
        changed = next((day for day in days if day.astimezone(zone).utcoffset() != offset), start)
        start = changed - timedelta(days=2)
    start += timedelta(minutes=random.randrange(24 * 60))
    return name, minutes_of(zone, start, MINUTES_PER_STRETCH)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(max(1, TRIPLES // PER_STRETCH)))
def test_slots_are_those_of_brute_force(seed: int) -> None:
    random = Random(f"stretch-{seed}")
    zone_name, minutes = stretch(random)
    for _ in range(PER_STRETCH):
        expression = expressions.aws(random) if random.random() < 0.2 else expressions.unix(random)
        dst = random.choice(["run", "run", "run", "skip"])
        compare(random, expressions.meant(expression), zone_name, dst, minutes)


def compare(random: Random, expression: str, zone_name: str, dst: str, minutes: list[Minute]) -> None:
    said = f"{expression!r} in {zone_name}, dst {dst}, from {minutes[0].utc}"
    expected = [to_instant(slot) for slot in Reference(expression).slots(minutes, skips_gaps=dst == "skip")]
    before, last = Instant(to_instant(minutes[0].utc) - 1), to_instant(minutes[-1].utc)
    document = {"cron": expression, "timezone": zone_name, "dst": dst}
    schedule = judge(document, before, needs_slot=False)
    if isinstance(schedule, InvalidRequest):
        assert "never fires" in str(schedule), said
        assert not expected, said
        return
    found = list(takewhile(lambda slot: slot <= last, slots(schedule, before)))
    assert found == expected, said
    assert found == sorted(set(found)), said
    assert count_slots(schedule, before, last) == len(expected), said
    for _ in range(5):
        after = Instant(random.randint(before, last))
        check_from(schedule, after, last, expected, said)
    assert isinstance(schedule, Cron)
    assert parse_cron(schedule.expression) == parse_cron(expression), said


def check_from(schedule: Schedule, after: Instant, last: Instant, expected: list[Instant], said: str) -> None:
    later = [slot for slot in expected if slot > after]
    found = next_slot(schedule, after)
    assert (found if found is not None and found <= last else None) == (later[0] if later else None), f"{said}, {after}"
    assert count_slots(schedule, after, last) == len(later), f"{said}, {after}"


@pytest.mark.parametrize("seed", range(max(1, TRIPLES // 100)))
def test_days_are_those_of_brute_force_for_years(seed: int) -> None:
    random = Random(f"days-{seed}")
    start = date(random.randint(1999, 2095), random.randint(1, 12), 1)
    days = [start + timedelta(days=ahead) for ahead in range(3 * 366)]
    for _ in range(5):
        expression = expressions.meant("0 0 {} {} {}".format(*expressions.day_fields(random)))
        reference = Reference(expression)
        expected = [day for day in days if reference.has_day(day)]
        midnight = to_instant(datetime(start.year, start.month, 1, tzinfo=UTC))
        schedule = judge({"cron": expression}, midnight, needs_slot=False)
        if isinstance(schedule, InvalidRequest):
            assert "never fires" in str(schedule), expression
            assert not expected, expression
            continue
        coming = (to_datetime(slot).date() for slot in slots(schedule, Instant(midnight - 1)))
        assert list(takewhile(lambda day: day <= days[-1], coming)) == expected, expression
