"""What the readers of all target types share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.domain.errors import FieldProblem

Members = Mapping[str, Any]

_SHOWN_LENGTH = 40


def shown(value: object) -> str:
    """Enough of a value to recognise it."""
    text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."


def read_templates(document: Members, problems: list[FieldProblem]) -> bool:
    """Whether placeholders are replaced in what is sent; by default they are."""
    given = document.get("templates", True)
    if not isinstance(given, bool):
        problems.append(FieldProblem("#/templates", f"{shown(given)} is neither true nor false", False))
    return given is not False
