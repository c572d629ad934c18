"""What the shapes of the API have and this release does not: refused, for what is accepted must take effect.

Each row goes when its feature comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from functions.api.bodies import pointer_to
from functions.api.requests import EXAMPLES
from shared.domain.errors import FieldProblem

#: The values that already work, by the path of the member.
AVAILABLE: Final[Mapping[tuple[str, ...], tuple[object, ...]]] = {
    ("overlap",): ("allow",),
    ("max_concurrent",): (None,),
}


def not_available(document: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """A problem for each member of a job's document that asks for what is not there yet."""
    for path, values in AVAILABLE.items():
        value: Any = document
        for name in path:
            value = value.get(name, values[0]) if isinstance(value, Mapping) else values[0]
        if value not in values:
            listed = ", ".join(json.dumps(each) for each in values if each is not None) or "nothing"
            example = EXAMPLES[pointer_to(path[0])] if values[0] is None else values[0]
            yield FieldProblem(pointer_to(*path), f"not available yet; what works here now: {listed}", example)
