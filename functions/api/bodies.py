"""Bodies as JSON: read strictly, so that what is stored can be sent anywhere again.

Refused beyond plain JSON: a name twice in one object (which one counts differs between readers, and two schedules would
hide in it), NaN and Infinity, half characters, and nesting without end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from math import isfinite
from typing import Any

from functions.api.refusals import BodyUnreadable
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.limits import MAX_DEPTH, MAX_PROBLEMS

Document = dict[str, Any]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_body(text: str) -> Document:
    """The JSON object in a body.

    Raises:
        BodyUnreadable: no JSON object.
        InvalidRequest: a text in it cannot be written as UTF-8, a number is none, or it is nested too deeply.
    """
    try:
        document = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        detail = f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise BodyUnreadable(detail) from error
    except RecursionError as error:
        raise BodyUnreadable("nested too deeply to be read") from error
    except ValueError as error:
        raise BodyUnreadable(f"no JSON that Carillon reads: {error}") from error
    if not isinstance(document, dict):
        raise BodyUnreadable('the body is a JSON object: {"...": ...}')
    problems = list(islice(_unstorable(document), MAX_PROBLEMS))
    if problems:
        raise InvalidRequest(problems)
    return document


def compact(document: object) -> str:
    """Without blanks, and members in the order in which they came."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def fingerprint_of(caller: str, method: str, path: str, document: Document) -> str:
    """What an Idempotency-Key stands for: the same for equal documents, whatever their order and blanks. Of another
    caller it is another request: an answer may hold what only the first one may see.
    """
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return sha256(f"{caller}\n{method} {path}\n{canonical}".encode()).hexdigest()


def merge_patch(document: Any, patch: Any) -> Any:
    """RFC 7396: members of `patch` replace those of `document`, null removes one, objects merge."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def pointer_to(*path: object) -> str:
    """RFC 6901, as a fragment."""
    return "#" + "".join("/" + str(name).replace("~", "~0").replace("/", "~1") for name in path)


def _without_repeats(pairs: list[tuple[str, Any]]) -> Document:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {repeated!r} is there twice in one object")
    return document


def _unstorable(document: Document) -> Iterator[FieldProblem]:
    """Iterative, for a recursive walk would end where the depth is the problem."""
    waiting: list[tuple[tuple[object, ...], Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str) and (found := _LONE_SURROGATE.search(value)):
            detail = f"half a character (a lone surrogate) at position {found.start()}; send whole characters"
            yield FieldProblem(pointer_to(*path), detail, "text")
        if isinstance(value, float) and not isfinite(value):
            detail = "NaN, Infinity and numbers beyond what 64-bit floats hold are no JSON numbers"
            yield FieldProblem(pointer_to(*path), detail, 1)
        if not isinstance(value, dict | list):
            continue
        if len(path) >= MAX_DEPTH:
            yield FieldProblem(pointer_to(*path[:3]), f"nested deeper than {MAX_DEPTH} levels")
            return
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            if isinstance(name, str) and _LONE_SURROGATE.search(name):
                yield FieldProblem(pointer_to(*path), "the name of a member holds half a character", "text")
            waiting.append(((*path, name), member))
