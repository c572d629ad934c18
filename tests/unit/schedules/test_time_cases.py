"""The collected cases: what other schedulers got wrong, with the right answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.schedules import next_fire

CASES = Path(__file__).parents[2]
TIME_CASES = json.loads((CASES / "time_cases.json").read_text(encoding="utf-8"))
REJECT_CASES = json.loads((CASES / "reject_cases.json").read_text(encoding="utf-8"))
AFTER = datetime(2026, 6, 2, 0, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize("case", TIME_CASES, ids=lambda case: f"{case['id']} {case['expression']}")
def test_a_collected_expression_fires_when_it_should(case: dict[str, Any]) -> None:
    after = datetime.fromisoformat(case["start_dt"])
    found = []
    for _ in case["expect"]:
        following = next_fire(case["expression"], case["timezone"], after)
        assert following is not None
        assert following > after
        after = following
        found.append(following.isoformat().replace("+00:00", "Z"))
    assert found == case["expect"], case["note"]


@pytest.mark.parametrize("case", REJECT_CASES, ids=lambda case: f"{case['case']} {case['expression']!r}")
def test_a_collected_expression_is_judged_right(case: dict[str, Any]) -> None:
    if case["verdict"] == "accept":
        assert next_fire(case["expression"], "UTC", AFTER) is not None
        return
    with pytest.raises(InvalidRequest) as refusal:
        next_fire(case["expression"], "UTC", AFTER)
    (problem,) = refusal.value.problems
    assert problem.pointer == "#/cron"
    assert problem.detail
    assert isinstance(problem.example, str)
    next_fire(problem.example, "UTC", AFTER)


def test_the_end_of_the_calendar_is_no_next_fire() -> None:
    """R22."""
    last_minute = datetime(9999, 12, 31, 23, 59, 30, tzinfo=UTC)
    for zone_name in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        assert next_fire("0 0 1 1 *", zone_name, last_minute) is None


def test_the_last_minute_of_the_calendar_is_still_a_fire() -> None:
    after = datetime(9999, 12, 31, 23, 58, 30, tzinfo=UTC)
    assert next_fire("* * * * *", "UTC", after) == datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    assert next_fire("* * * * *", "UTC", after.replace(minute=59)) is None


def test_the_first_day_of_the_calendar_can_be_asked() -> None:
    for zone_name in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        assert next_fire("0 0 1 1 *", zone_name, datetime(1, 1, 1, tzinfo=UTC)) is not None


def test_a_time_without_a_zone_is_no_question() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        next_fire("0 0 1 1 *", "UTC", datetime(2026, 1, 1))  # noqa: DTZ001
