"""A Python function in Carillon's worker, by name. Whoever deploys the worker decides what is there: no grant."""

from __future__ import annotations

import re
from typing import Any

from shared.domain.errors import FieldProblem
from shared.domain.grants import Use
from shared.domain.targets.reading import Members

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)


def read(document: Members, problems: list[FieldProblem]) -> dict[str, Any]:
    name = document.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        detail = "the name of a handler has 1 to 128 characters out of A-Z a-z 0-9 _ . : -"
        problems.append(FieldProblem("#/name", detail, "echo"))
    return {"type": "handler", "name": name}


def uses(_target: Members, _region: str) -> tuple[Use, ...]:
    return ()
