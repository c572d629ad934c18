"""A request's document as one of the models of `requests`, or what is wrong with it.

A document may be wrong in as many places as it has members: only the first few are told, and of them only the first get
a guess at what was meant, for guessing costs more than reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from functions.api.bodies import Document, pointer_to
from functions.api.requests import EXAMPLES, READ_ONLY
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.limits import MAX_PROBLEMS

M = TypeVar("M", bound=BaseModel)

GUESSES: Final = 5
#: No name that is known here is nearly as long.
_LONGEST_GUESSED: Final = 64


def validated(model: type[M], document: Document) -> M:
    """Raises InvalidRequest with the first problems of the document."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise InvalidRequest(problems_of(found, model)) from error


def problems_of(errors: Iterable[Any], model: type[BaseModel] | None = None) -> list[FieldProblem]:
    """Pydantic's errors as ours; `model` is the one that the names of the top level belong to."""
    first = islice(errors, MAX_PROBLEMS)
    return [_problem_of(error, model, may_guess=number < GUESSES) for number, error in enumerate(first)]


def _problem_of(error: Mapping[str, Any], model: type[BaseModel] | None, *, may_guess: bool) -> FieldProblem:
    path = [part for part in error["loc"] if part != "[key]"]
    pointer = pointer_to(*path)
    parent = pointer_to(*path[:-1])
    if error["type"] == "extra_forbidden":
        return FieldProblem(pointer, _unknown_member(path, model, may_guess=may_guess), EXAMPLES.get(parent))
    example = EXAMPLES.get(pointer, EXAMPLES.get(pointer_to(*path[:1])) if len(path) == 1 else None)
    if error["type"] == "missing":
        return FieldProblem(pointer, f"{path[-1] if path else 'the body'} is missing", example)
    if "[key]" in error["loc"] or (example is None and path[:1] == ["tags"]):
        example = "finance"
    message = str(error.get("ctx", {}).get("detail") or error["msg"])
    return FieldProblem(pointer, message[:1].lower() + message[1:], example)


def _unknown_member(path: list[Any], model: type[BaseModel] | None, *, may_guess: bool) -> str:
    name = str(path[-1])
    if len(path) == 1 and name in READ_ONLY:
        return f"{name} is set by Carillon; leave it out"
    if not may_guess:
        return "unknown"
    known = _members(path[:-1], model)
    near = get_close_matches(name, known, n=1) if len(name) <= _LONGEST_GUESSED else []
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown; known here: {', '.join(known)}{hint}"


def _members(path: list[Any], model: type[BaseModel] | None) -> list[str]:
    for name in path:
        found = model.model_fields.get(name) if model else None
        annotation = found.annotation if found else None
        model = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    return [found.alias or name for name, found in model.model_fields.items()] if model else []
