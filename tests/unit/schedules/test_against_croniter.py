"""A second opinion by a library that nobody here wrote: it must agree wherever it reads an expression as cron does."""

from __future__ import annotations

from random import Random

import pytest

from shared.domain.schedules import Cron
from tests.unit.schedules import expressions
from tests.unit.schedules.moments import at
from tests.unit.schedules.second_opinion import first_difference

NOW = at("2026-06-01T12:00Z")
SLOTS = 5


def field(random: Random, low: int, high: int) -> str:
    """Of the forms that all readers of cron read alike."""
    first = random.randint(low, high - 1)
    last = random.randint(first + 1, high)
    step = random.randint(2, 7)
    return random.choice(["*", f"*/{step}", str(first), f"{first}-{last}", f"{first}-{last}/{step}", f"{first},{last}"])


def plain(random: Random) -> str:
    # With both days limited croniter joins them otherwise than cron does.
    days, weekdays = random.choice([(field(random, 1, 28), "*"), ("*", field(random, 0, 6))])
    return expressions.meant(f"{field(random, 0, 59)} {field(random, 0, 23)} {days} {field(random, 1, 12)} {weekdays}")


@pytest.mark.parametrize("seed", range(10))
def test_croniter_agrees_on_what_every_cron_reads_alike(seed: int) -> None:
    random = Random(seed)
    for _ in range(30):
        expression = plain(random)
        assert first_difference(Cron(expression=expression), NOW, SLOTS) is None, expression


def test_croniter_agrees_across_zones_where_no_clock_changes() -> None:
    for timezone in ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"):
        planned = Cron(expression="30 2 * * MON-FRI", timezone=timezone)
        assert first_difference(planned, NOW, SLOTS) is None, timezone


@pytest.mark.parametrize(
    ("expression", "trap"),
    [
        ("30-30 2 * * *", "a range of one is read as all"),
        ("0 5 LW * *", "the last working day"),
        ("0 0 ? * 4L", "the last of a weekday"),
        ("0 12 */2 * SAT", "days that must both hold are joined by or"),
        ("0 12 28-19/7 * *", "a step through a range that wraps"),
    ],
)
def test_croniter_differs_where_it_is_known_to(expression: str, trap: str) -> None:
    assert first_difference(Cron(expression=expression), NOW, 40) is not None, trap


def test_expressions_of_aws_are_not_compared() -> None:
    assert first_difference(Cron(expression="cron(0 12 ? * MON *)"), NOW, SLOTS) is None
