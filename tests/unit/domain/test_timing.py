from __future__ import annotations

from typing import Any

import pytest

from shared.domain.timing import Timing


def test_the_defaults_hold_each_other_up() -> None:
    Timing().check()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"margin_ms": 181_000}, "margin"),
        ({"trust_ms": 4_000}, "trust .* shorter than dead"),
        ({"trust_ms": 2_000}, "trust .* two beats"),
        ({"horizon_ms": 302_000}, "horizon"),
        ({"sweep_ahead_ms": 1_300}, "sweep ahead"),
        ({"residency_ms": 599_999}, "residency"),
    ],
)
def test_a_constant_on_its_limit_is_refused_by_name(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Timing(**change).check()
