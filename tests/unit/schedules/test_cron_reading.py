"""What an expression means before any zone comes in: sets of numbers, a canonical spelling, and clear refusals."""

from __future__ import annotations

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.schedules.cron_days import days_mask
from shared.domain.schedules.cron_parse import CronFields, parse_cron

EVERY_DAY = tuple(range(7))


def example_beside(expression: str) -> object:
    with pytest.raises(InvalidRequest) as refused:
        parse_cron(expression)
    return refused.value.problems[0].example


def refusal(expression: str, *, has_seconds: bool = False) -> str:
    with pytest.raises(InvalidRequest) as refused:
        parse_cron(expression, has_seconds=has_seconds)
    (problem,) = refused.value.problems
    assert problem.pointer == "#/cron"
    return problem.detail


def weekdays(text: str) -> tuple[int, ...]:
    return parse_cron(f"0 0 * * {text}").days.week_days.numbers


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("7", (0,)),
        ("0", (0,)),
        ("sun", (0,)),
        ("7-7", (0,)),
        ("7-0", (0,)),
        ("0-7", EVERY_DAY),
        ("1-7", EVERY_DAY),
        ("mon-sun", EVERY_DAY),
        ("FRI-MON", (0, 1, 5, 6)),
        ("5-7", (0, 5, 6)),
        ("6-0", (0, 6)),
        ("7-2", (0, 1, 2)),
        ("1-7/2", (0, 1, 3, 5)),
        ("0-7/7", (0,)),
        ("*/7", (0,)),
        ("*/3", (0, 3, 6)),
        ("5/2", (0, 5)),
        ("Sat-Sun/1", (0, 6)),
        ("MON,3,fri", (1, 3, 5)),
    ],
)
def test_weekdays_count_from_sunday_which_is_both_0_and_7(text: str, days: tuple[int, ...]) -> None:
    assert weekdays(text) == days


@pytest.mark.parametrize(
    ("text", "days"), [("1", (0,)), ("7", (6,)), ("2-6", (1, 2, 3, 4, 5)), ("SUN", (0,)), ("L", (6,)), ("7-1", (0, 6))]
)
def test_aws_weekdays_count_from_sunday_which_is_1(text: str, days: tuple[int, ...]) -> None:
    assert parse_cron(f"cron(0 0 ? * {text} *)").days.week_days.numbers == days


def minutes(text: str) -> tuple[int, ...]:
    return parse_cron(f"{text} * * * *").minutes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5-5", (5,)),
        ("59/15", (59,)),
        ("50/5", (50, 55)),
        ("58-2", (0, 1, 2, 58, 59)),
        ("50-10/10", (0, 10, 50)),
        ("10-10/3", (10,)),
        ("*/45", (0, 45)),
        ("0,0,30", (0, 30)),
        ("007", (7,)),
    ],
)
def test_ranges_wrap_and_steps_start_where_the_range_does(text: str, expected: tuple[int, ...]) -> None:
    assert minutes(text) == expected


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("*/61 * * * *", "steps further than the field's 60 values"),
        ("0 */25 * * *", "steps further than the field's 24 values"),
        ("0 0 */32 * *", "steps further than the field's 31 values"),
        ("0 0 1 */13 *", "steps further than the field's 12 values"),
        ("0 0 * * */8", "steps further than the field's 7 values"),
        ("0/90 * * * *", 'use "every"'),
        ("60 * * * *", "minute field: 60 is outside 0-59"),
        ("0 24 * * *", "hour field: 24 is outside 0-23"),
        ("0 0 0 * *", "day of month field: 0 is outside 1-31"),
        ("0 0 32 * *", "day of month field: 32 is outside 1-31"),
        ("0 0 * 0 *", "month field: 0 is outside 1-12"),
        ("0 0 * 13 *", "month field: 13 is outside 1-12"),
        ("0 0 * * 8", "day of week field: 8 is outside 0-7"),
        ("MON * * * *", "minute field: 'MON' is not a number"),
        ("0 0 * MON *", "month field: 'MON' is not one of JAN"),
        ("0 0 * * JAN", "day of week field: 'JAN' is not one of SUN"),
        ("1- * * * *", "minute field"),
        ("5/ * * * *", "whole number after the slash"),
        ("/5 * * * *", "minute field"),
        ("*/5/5 * * * *", "whole number after the slash"),
        ("*-5 * * * *", "minute field"),
        ("** * * * *", "minute field"),
        ("1-2-3 * * * *", "minute field"),
        ("+5 * * * *", "minute field"),
        ("1_0 * * * *", "minute field"),
        ("? * * * *", "minute field"),
        ("0 0 ? * ?", "only one of the two day fields"),
        ("0 0 * L *", "month field"),
        ("L * * * *", "minute field"),
        ("0 0 L-31 * *", "use L-1 to L-30"),
        ("0 0 L-30 2 *", "never fires"),
        ("0 0 L-3W * *", "W stands alone"),
        ("0 9 * * MONDAY", "names have three letters: MON"),
        ("0 0 1 SEPTEMBER *", "names have three letters: SEP"),
        ("0 0 Q * *", "L-n (n days before it)"),
        ("0 0 * * 5-6X", "MON#2 (the second Monday)"),
        ("0 0 32W * *", "32 is outside 1-31"),
        ("0 0 W * *", "W stands alone"),
        ("0 0 1W,15W * *", "W stands alone"),
        ("0 0 1-5W * *", "W stands alone"),
        ("0 0 * * 5W", "day of week field"),
        ("0 0 * * L", "day of week field"),
        ("0 0 * * MON-FRI#2", "# stands between"),
        ("0 0 * * #2", "# stands between"),
        ("0 0 * * 5#", "# stands between"),
        ("0 0 * * 5L,1", "mixes whole weekdays"),
        ("0 0 13 * 5L", "no agreed meaning"),
        ("0 0 15W * 1", "no agreed meaning"),
        ("0 0 31W 2 *", "never fires"),
        ("0 0 30-31 2 5#2", "no agreed meaning"),
        ("@reboot", "has no time"),
        ("@fortnightly", "is not one of @yearly"),
        ("every 5 minutes", "3 fields"),
        ("* * * *", "4 fields; five are needed"),
        ("*", "1 field; five are needed"),
        ("0\x0b0 * * *", "only ASCII"),
        ("0 0 * * *\r", "only ASCII"),
        ("0 0 * * *\x00", "only ASCII"),
        ("\ufeff0 0 * * *", "only ASCII"),
        ("0 0 * * *" + " " * 300, "the limit is 256"),
        ("cron(0 12 ? * MON)", "5 fields in cron(...)"),
        ("cron(0 0 12 ? * MON *)", "7 fields in cron(...)"),
        ("cron()", "fields in cron(...)"),
        ("cron(0 12 ? * 0 *)", "day of week field: 0 is outside 1-7"),
        ("cron(0 12 ? * 8 *)", "day of week field: 8 is outside 1-7"),
        ("cron(0 12 1 * ? 1969)", "year field: 1969 is outside 1970-2199"),
        ("cron(0 12 1 * ? 2200)", "year field: 2200 is outside 1970-2199"),
        ("cron(0 12 1 * ? 2030-2026)", "runs backwards"),
        ("cron(0 12 29 2 ? 2027)", "never fires"),
        ("cron(0 12 ? * 2#1,3#1 *)", "a single #"),
        ("cron(0 12 ? * MON *", "neither cron("),
    ],
)
def test_a_refusal_names_the_field_and_the_part(expression: str, says: str) -> None:
    assert says in refusal(expression)


@pytest.mark.parametrize(
    ("expression", "meant"),
    [
        ("0 */24 * * *", "0 0 * * *"),
        ("30/45 * * * *", "30 * * * *"),
        ("10-20/15 * * * *", "10 * * * *"),
        ("*/60 5 * * *", "0 5 * * *"),
        ("0 0 1 jun/8 *", "0 0 1 JUN *"),
        ("0 0 */31,L 2 *", "0 0 1,L 2 *"),
        ("cron(0 */24 * * ? *)", "cron(0 0 * * ? *)"),
    ],
)
def test_a_step_that_selects_only_its_start_is_refused_with_what_it_says(expression: str, meant: str) -> None:
    assert "selects nothing but" in refusal(expression)
    assert example_beside(expression) == meant
    parse_cron(meant)


@pytest.mark.parametrize(
    ("expression", "says", "meant"),
    [
        ("TZ=Asia/Tokyo 15 6 * * *", "member timezone", {"cron": "15 6 * * *", "timezone": "Asia/Tokyo"}),
        ("CRON_TZ=UTC @daily", "member timezone", {"cron": "@daily", "timezone": "UTC"}),
        ("@every 1h30m", "member every", {"every": "PT1H30M"}),
        ("@every 90s", "member every", {"every": "PT90S"}),
        ("at(2026-12-24T18:00:00)", "member at", {"at": "2026-12-24T18:00:00", "timezone": "UTC"}),
        ("0 0 12 * * MON", "leave it out", "0 12 * * MON"),
        ("0 12 ? * MON *", "the AWS form", "cron(0 12 ? * MON *)"),
        ("0 0 12 ? * MON 2027", "the AWS form", "cron(0 12 ? * MON 2027)"),
        ("5 0 * * * # nightly", "is a comment", "5 0 * * *"),
        ("@daily # nightly", "is a comment", "@daily"),
    ],
)
def test_a_spelling_of_another_tool_is_refused_with_the_request_that_says_it(
    expression: str, says: str, meant: object
) -> None:
    assert says in refusal(expression)
    assert example_beside(expression) == meant
    if isinstance(meant, str):
        parse_cron(meant)


@pytest.mark.parametrize(
    ("text", "days"), [("L", [31, 28]), ("L-3", [28, 25]), ("L-30", [1]), ("15,L-1,L", [15, 30, 31, 15, 27, 28])]
)
def test_days_may_be_counted_back_from_the_last(text: str, days: list[int]) -> None:
    rule = parse_cron(f"0 0 {text} * *").days
    # January and February of 2026.
    found = [
        day for length, first in ((31, 4), (28, 0)) for day in range(1, 32) if days_mask(rule, length, first) >> day & 1
    ]
    assert found == days


def test_six_fields_are_taken_only_when_asked_for() -> None:
    assert 'set "seconds": true' in refusal("5 0 12 * * *")
    parsed = parse_cron("*/20 0 12 * * *", has_seconds=True)
    assert (parsed.seconds, parsed.minutes, parsed.hours) == ((0, 20, 40), (0,), (12,))
    assert "six" in refusal("0 12 * * *", has_seconds=True)
    assert "no seconds" in refusal("@daily", has_seconds=True)
    assert "no seconds" in refusal("cron(0 12 ? * MON *)", has_seconds=True)


@pytest.mark.parametrize(
    ("expression", "canonical"),
    [
        ("  00\t07  *  jan-Mar  mon,FRI ", "0 7 * JAN-MAR MON,FRI"),
        ("@DAILY", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("*/05 * l * *", "*/5 * L * *"),
        ("0 0 l-03,1 * *", "0 0 L-3,1 * *"),
        ("0 0 015w * ?", "0 0 15W * ?"),
        ("0 0 * * fri#02", "0 0 * * FRI#2"),
        ("0 0 * * fril", "0 0 * * FRIL"),
        ("cron( 0  12 ? * mon-fri 2026 )", "cron(0 12 ? * MON-FRI 2026)"),
    ],
)
def test_equal_expressions_have_one_spelling(expression: str, canonical: str) -> None:
    parsed = parse_cron(expression)
    assert parsed.text == canonical
    assert parse_cron(parsed.text) == parsed


@pytest.mark.parametrize(
    ("expression", "follows"),
    [
        ("* 2 * * *", True),
        ("0 * * * *", True),
        ("0 */2 * * *", True),
        ("*/5 2 * * *", True),
        ("@hourly", True),
        ("cron(0 * ? * MON *)", True),
        ("0 0-23 * * *", False),
        ("0-59 2 * * *", False),
        ("0/5 2 * * *", False),
        ("0 2 * * *", False),
        ("@daily", False),
        ("cron(0/5 7 ? * MON *)", False),
    ],
)
def test_a_leading_star_in_minute_or_hour_makes_it_follow_the_clock(expression: str, *, follows: bool) -> None:
    assert parse_cron(expression).follows_clock is follows


def needs_both(expression: str) -> bool:
    fields: CronFields = parse_cron(expression)
    return fields.days.needs_both


def test_a_day_must_satisfy_both_fields_only_when_one_begins_with_a_star() -> None:
    assert needs_both("0 0 */2 * SAT")
    assert needs_both("0 0 4-28 * */3")
    assert needs_both("0 0 ? * SAT")
    assert not needs_both("0 0 1-31 * 1")
    assert not needs_both("0 0 L * 1")
