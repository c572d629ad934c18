"""Cursors: opaque to callers, and refused when they come from another list."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from shared.domain.errors import FieldProblem, InvalidRequest


def encode_cursor(list_name: str, scope: str, position: Any) -> str:
    """`position` is any JSON; `scope` is whose list it is."""
    text = json.dumps([list_name, scope, position], separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, list_name: str, scope: str) -> Any:
    """The position, its shape unchecked. Raises InvalidRequest for a cursor that this list did not give."""
    try:
        document = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError) as error:
        raise foreign_cursor() from error
    if not isinstance(document, list) or len(document) != 3 or document[:2] != [list_name, scope]:  # noqa: PLR2004
        raise foreign_cursor()
    return document[2]


def foreign_cursor() -> InvalidRequest:
    return InvalidRequest(
        FieldProblem("#/cursor", "is not a cursor of this list; pass the `cursor` of its last page, or none to start")
    )
