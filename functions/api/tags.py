"""The tags that a query looks for."""

from __future__ import annotations

from functions.api.gate import Call
from shared.domain.errors import FieldProblem, InvalidRequest


def tags_of(call: Call) -> dict[str, str]:
    """Every `tag=key:value`; a job must have them all. Raises InvalidRequest."""
    tags: dict[str, str] = {}
    for name, text in call.query:
        if name != "tag":
            continue
        key, colon, value = text.partition(":")
        if not colon or not key:
            raise InvalidRequest(FieldProblem("#/tag", "a tag to look for is written key:value", "team:finance"))
        tags[key] = value
    return tags
