"""What a run calls: the target of a job, normalised and checked before anything is stored. One file per type.

Which targets an owner may use is a question of grants (`shared.domain.grants`); what a target asks of them is said here
by `uses_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.grants import Use
from shared.domain.targets import aws_api, handler, http, lambda_function
from shared.domain.targets.reading import Members, shown
from shared.domain.templates import escaped

EXAMPLE_TARGET: Final = {"type": "http", "url": http.EXAMPLE_URL}

__all__ = ["EXAMPLE_TARGET", "parse_target", "uses_of"]


@dataclass(frozen=True, slots=True)
class _Type:
    #: The target with its defaults; problems are added to the list.
    read: Callable[[Members, list[FieldProblem]], dict[str, Any]]
    #: What a stored target needs grants for, in this Region.
    uses: Callable[[Members, str], tuple[Use, ...]]


_TYPES: Final[Mapping[str, _Type]] = {
    "http": _Type(http.read, http.uses),
    "handler": _Type(handler.read, handler.uses),
    "lambda": _Type(lambda_function.read, lambda_function.uses),
    "aws": _Type(aws_api.read, aws_api.uses),
}


def parse_target(document: object) -> dict[str, Any]:
    """The target with every default filled in; `type` and then exactly the members of that type.

    Raises:
        InvalidRequest: pointers are relative to the target; all problems are named at once.
    """
    if not isinstance(document, Mapping):
        raise InvalidRequest(FieldProblem("#", "a target is an object", EXAMPLE_TARGET))
    kind = document.get("type")
    found = _TYPES.get(kind) if isinstance(kind, str) else None
    if found is None:
        what = "is missing" if kind is None else f"{shown(kind)} is unknown"
        detail = f"the type of a target {what}; known types: {', '.join(_TYPES)}"
        raise InvalidRequest(FieldProblem("#/type", detail, EXAMPLE_TARGET))
    problems: list[FieldProblem] = []
    target = found.read(document, problems)
    problems += [
        FieldProblem(f"#/{escaped(name)}", f"unknown member of a target of type {kind}; known: {', '.join(target)}")
        for name in document
        if name not in target
    ]
    if problems:
        raise InvalidRequest(problems)
    return target


def uses_of(target: Members, *, region: str) -> tuple[Use, ...]:
    """What a parsed target calls, for which its owner may need grants. `region` is where a name without one lies."""
    found = _TYPES.get(str(target.get("type")))
    return () if found is None else found.uses(target, region)
