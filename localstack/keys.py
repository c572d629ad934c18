"""The API key of the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def issue_demo_key(endpoint: str, outputs: Mapping[str, str]) -> str:
    """A new key with every scope, written to the `access` table; the text that goes after `Bearer`."""
    del endpoint, outputs
    return "not issued yet"
