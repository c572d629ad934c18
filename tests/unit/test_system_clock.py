"""A clock that is wrong on purpose, for tests of a whole stack."""

from __future__ import annotations

from pathlib import Path

from shared.adapters.system import SystemClock, system_clock
from shared.config import CLOCK_ERROR_VARIABLE
from shared.domain.instants import DAY


def test_a_clock_is_wrong_by_what_the_file_says_while_there_is_one(tmp_path: Path) -> None:
    error = tmp_path / "error"
    clock = system_clock({CLOCK_ERROR_VARIABLE: str(error)})
    right = SystemClock()
    assert abs(clock.now() - right.now()) < DAY
    error.write_text(str(10 * DAY))
    assert 9 * DAY < clock.now() - right.now() < 11 * DAY
    assert abs(clock.monotonic() - right.monotonic()) < DAY


def test_without_the_variable_it_is_the_systems_clock() -> None:
    assert type(system_clock({})) is SystemClock
