"""The tags that a query looks for."""

from __future__ import annotations

from functions.api.gate import Call
from shared.domain.errors import FieldProblem, InvalidRequest


def tags_of(call: Call) -> tuple[str, ...]:
    """Every `tag=key:value`; a job must have them all. Raises InvalidRequest."""
    texts = tuple(text for name, text in call.query if name == "tag")
    if any(":" not in text or text.startswith(":") for text in texts):
        raise InvalidRequest(FieldProblem("#/tag", "a tag to look for is written key:value", "team:finance"))
    return texts
