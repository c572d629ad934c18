"""Whether the workers of this deployment have the function that a job names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from shared.domain.errors import FieldProblem, InvalidRequest

#: Of what there is; a deployment may have hundreds.
_MOST_NAMED = 20


def check_handler(target: Mapping[str, Any], known: Collection[str] | None) -> None:
    """`known` is None where nobody could tell which there are. Raises InvalidRequest."""
    if known is None or target["type"] != "handler" or target["name"] in known:
        return
    name = target["name"]
    first = sorted(known)[:_MOST_NAMED]
    more = f" and {len(known) - len(first)} more" if len(known) > len(first) else ""
    near = get_close_matches(name[:100], known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    detail = f"no handler of this deployment is named {name!r}; there are {', '.join(first)}{more}{hint}"
    raise InvalidRequest(FieldProblem("#/target/name", detail, near[0] if near else first[0]))
