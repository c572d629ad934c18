"""Answers and errors as a terminal shows them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from carillon.client import CarillonError, Problem


@dataclass(frozen=True, slots=True)
class Shown:
    """One document; or many, of which a table has these columns, with dots into what is nested.

    `note` is for people, and goes to the standard error.
    """

    document: Any
    columns: tuple[str, ...] = ()
    note: str = ""


class Failure(Exception):
    """The API did as it was asked, and what came of it is no success."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        super().__init__(shown.note)


def first_of(items: Iterable[Any], limit: int, columns: tuple[str, ...]) -> Shown:
    """Says so when there are more."""
    found = list(islice(items, limit + 1))
    note = f"there are more than these {limit}: use --limit" if len(found) > limit else ""
    return Shown(found[:limit], columns, note)


def erased(document: Any, *, is_done: bool) -> Shown:
    """Raises Failure when something is left."""
    if not is_done:
        raise Failure(Shown(document, note="runs are alive: repeat it when they have ended"))
    return Shown(document)


def show(shown: Shown, *, as_json: bool) -> None:
    if as_json:
        text = json.dumps(shown.document, indent=2, ensure_ascii=False)
    elif isinstance(shown.document, list):
        text = table(shown.document, shown.columns)
    else:
        text = lines(shown.document)
    print(text, flush=True)  # noqa: T201 - talks to the terminal
    if shown.note:
        print(shown.note, file=sys.stderr)  # noqa: T201


def table(documents: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    rows = [[column.rpartition(".")[2].upper() for column in columns]]
    rows += [[cell(value_at(document, column)) for column in columns] for document in documents]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def lines(document: Mapping[str, Any]) -> str:
    width = max(map(len, document), default=0)
    return "\n".join(f"{name.ljust(width)}  {cell(value)}" for name, value in document.items())


def value_at(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        if isinstance(value, list) and name.isdigit():
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value


def cell(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "-"
    if isinstance(value, str):
        # What others wrote must not move the cursor, or end the line.
        return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in value)
    if isinstance(value, list) and all(isinstance(each, str | int) for each in value):
        return ", ".join(cell(each) if isinstance(each, str) else str(each) for each in value)
    return json.dumps(value, ensure_ascii=True)


def told(error: CarillonError) -> str:
    """Every field with its fix."""
    told_lines = [f"carillon: {error}"]
    if isinstance(error, Problem):
        for each in error.errors:
            told_lines.append(f"  {each.pointer}: {each.detail}")
            if each.example is not None:
                told_lines.append(f"      for example: {json.dumps(each.example, ensure_ascii=False)}")
        if error.instance:
            told_lines.append(f"  request: {error.instance}")
    return "\n".join(told_lines)
