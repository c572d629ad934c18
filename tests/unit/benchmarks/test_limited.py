"""How much of a core a benched process may take."""

from __future__ import annotations

import pytest

from tests.benchmarks.rig.limited import PERIOD_SECONDS, allowed_until_next

QUARTER = 0.25 * PERIOD_SECONDS


def test_a_period_gives_its_share() -> None:
    assert allowed_until_next(1.0, 1.0, 0.25) == 1.0 + QUARTER


def test_what_was_not_used_is_gone() -> None:
    assert allowed_until_next(1.0, 0.5, 0.25) == 0.5 + QUARTER


def test_what_was_used_too_much_is_owed() -> None:
    allowed = allowed_until_next(1.0, 1.0 + QUARTER / 2, 0.25)
    assert allowed - (1.0 + QUARTER / 2) == pytest.approx(QUARTER / 2)
