"""What the readers of all target types share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Members = Mapping[str, Any]

_SHOWN_LENGTH = 40


def shown(value: object) -> str:
    """Enough of a value to recognise it."""
    text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."
