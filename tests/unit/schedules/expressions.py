"""Random cron expressions of both dialects, drawn so that days of a short stretch are hit often."""

from __future__ import annotations

from random import Random

from shared.domain.errors import InvalidRequest
from shared.domain.schedules.cron_parse import parse_cron
from tests.unit.schedules.reference import MONTHS, WEEKDAYS


def unix(random: Random) -> str:
    """Five fields; sometimes with L, W or #, in any case."""
    fields = [_minute(random), _hour(random), _day(random), _month(random), _weekday(random)]
    special = random.random()
    if special < 0.05:
        fields[2] = random.choice(["L", "LW", "1,L", "L-3", f"{random.randint(1, 31)}W"])
        if "W" in fields[2]:
            fields[4] = random.choice(["*", "?", "*/2"])
    elif special < 0.1:
        fields[2] = random.choice(["*", "?", "*/3"])
        fields[4] = _nth(random, random.choice([str(random.randint(0, 7)), random.choice(WEEKDAYS)]))
    text = " ".join(fields)
    return text.lower() if random.random() < 0.2 else text


def aws(random: Random) -> str:
    """`cron(...)` with a `?` in one day field, weekdays numbered from Sunday = 1, and a year."""
    if random.random() < 0.5:
        days, weekdays = random.choice([_day(random), "L", "LW", f"{random.randint(1, 31)}W", "*"]), "?"
    else:
        name = random.choice([str(random.randint(1, 7)), random.choice(WEEKDAYS)])
        days, weekdays = "?", random.choice([_list(random, 1, 7, WEEKDAYS), _nth(random, name), "*"])
    year = random.choice(["*", "*", "2000-2090", "1970/1", "1976-2199/2"])
    return f"cron({_minute(random)} {_hour(random)} {days} {_month(random)} {weekdays} {year})"


def meant(expression: str) -> str:
    """The expression, or what its refusal puts in the place of steps that select only their start."""
    try:
        parse_cron(expression)
    except InvalidRequest as refused:
        (problem,) = refused.problems
        if "selects nothing but" in problem.detail:
            return meant(str(problem.example))
    return expression


def day_fields(random: Random) -> tuple[str, str, str]:
    """(day of month, month, day of week) with every special form, as of a Unix expression."""
    days, months, weekdays = _list(random, 1, 31), _month(random), _list(random, 0, 7, WEEKDAYS)
    form = random.randrange(8)
    if form == 0:
        days = random.choice(["L", "L,15", "1,L", f"L-{random.randint(1, 30)}"])
    elif form == 1:
        days = random.choice(["LW", "1W", "31W", f"{random.randint(1, 31)}W"])
        weekdays = random.choice(["*", "?", "*/2"])
    elif form == 2:
        days = random.choice(["*", "?", "*/2"])
        weekdays = ",".join(_nth(random, str(random.randint(0, 7))) for _ in range(random.randint(1, 2)))
    elif form < 5:
        days = "*" if form == 3 else days
        weekdays = "*" if form == 4 else weekdays
    return days, months, weekdays


def _nth(random: Random, weekday: str) -> str:
    return f"{weekday}L" if random.random() < 0.4 else f"{weekday}#{random.randint(1, 5)}"


def _minute(random: Random) -> str:
    return random.choice(["0", "30", "*", "*/15", "15,45", _list(random, 0, 59)])


def _hour(random: Random) -> str:
    # Clocks change in the small hours.
    return random.choice(
        ["*", "*/2", "0-23", str(random.randint(0, 3)), str(random.randint(0, 23)), _list(random, 0, 23)]
    )


def _day(random: Random) -> str:
    return "*" if random.random() < 0.6 else _list(random, 1, 31)


def _month(random: Random) -> str:
    return "*" if random.random() < 0.7 else _list(random, 1, 12, MONTHS[1:])


def _weekday(random: Random) -> str:
    return "*" if random.random() < 0.6 else _list(random, 0, 7, WEEKDAYS)


def _list(random: Random, low: int, high: int, names: list[str] | None = None) -> str:
    return ",".join(_part(random, low, high, names) for _ in range(random.choice([1, 1, 1, 2, 3])))


def _part(random: Random, low: int, high: int, names: list[str] | None) -> str:
    step = random.randint(1, min(high - low, 7 if random.random() < 0.7 else 60))
    first, last = (_value(random, low, high, names) for _ in range(2))
    forms = [first, f"{first}-{last}", f"{first}-{last}/{step}", f"{first}/{step}", f"*/{step}", f"{first}-{first}"]
    return random.choice(forms)


def _value(random: Random, low: int, high: int, names: list[str] | None) -> str:
    if names and random.random() < 0.3:
        return random.choice(names)
    number = random.randint(low, high)
    return f"{number:02d}" if random.random() < 0.1 else str(number)
