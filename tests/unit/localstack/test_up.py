"""What `make up` is asked for, and what makes a running stack one of other sources."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

import pytest

from localstack import start
from localstack.stack import can_be_renewed
from localstack.start import Variant, fingerprint_of
from localstack.terminal import settings_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("text", ["", "{", "[]", "handlers"])
def test_settings_that_are_no_object_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="SETTINGS"):
        settings_in(text)


def test_settings_are_a_json_object() -> None:
    assert settings_in('{"handlers": {"folder": "x"}}') == {"handlers": {"folder": "x"}}


def test_a_change_of_a_handler_makes_the_stack_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "SOURCES", ())
    app, own = tmp_path / "app", tmp_path / "own"
    own.mkdir()
    variant = Variant({"handlers": {"folder": str(own), "modules": ["mine"]}})
    (own / "mine.py").write_text("A = 1")
    before = fingerprint_of(app, variant)
    assert fingerprint_of(app, variant) == before
    (own / "mine.py").write_text("A = 2")
    assert fingerprint_of(app, variant) != before


def test_an_emulator_that_enforces_roles_is_not_made_of_one_that_does_not() -> None:
    assert can_be_renewed({}, Variant())
    assert can_be_renewed({"enforces_roles": True}, Variant(enforces_roles=True))
    assert not can_be_renewed({"enforces_roles": True}, Variant())
    assert not can_be_renewed({"enforces_roles": False}, Variant(enforces_roles=True))
