"""A row as a list of columns: each attribute is named once, for both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from shared.adapters.dynamodb.attributes import (
    Row,
    Value,
    document,
    flag,
    read_document,
    read_flag,
    read_text,
    read_whole,
    text,
    whole,
)

#: Different values that a shared column keeps.
SHARED_VALUES = 8_192
#: A longer document is rarely another's, and thousands of them would fill the memory.
SHARED_LENGTH = 512


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a value, as attribute `name`. A field equal to `absent` is left out: rows stay small, and a row
    written before the column existed reads as the field's default.
    """

    name: str
    write: Callable[[Any], Value]
    read: Callable[[Value], Any]
    field: str
    absent: Any = None


def _column(name: str, write: Callable[[Any], Value], read: Callable[[Value], Any], absent: Any, field: str) -> Column:
    return Column(name, write, read, field or name, absent)


def text_column(name: str, kind: Callable[[str], Any] = str, *, absent: Any = None, field: str = "") -> Column:
    """Also for enumerations of texts: `kind` makes the member."""
    return _column(name, text, lambda value: kind(read_text(value)), absent, field)


def whole_column(name: str, *, absent: Any = None, field: str = "") -> Column:
    return _column(name, whole, read_whole, absent, field)


def flag_column(name: str, *, absent: Any = None) -> Column:
    return _column(name, flag, read_flag, absent, name)


def _same(value: Any) -> Any:
    return value


def document_column(
    name: str,
    to_json: Callable[[Any], Any] = _same,
    from_json: Callable[[Any], Any] = _same,
    *,
    absent: Any = None,
) -> Column:
    """`to_json` and `from_json` turn the field into plain JSON and back."""
    return _column(
        name, lambda value: document(to_json(value)), lambda value: from_json(read_document(value)), absent, name
    )


def shared_column(name: str, to_json: Callable[[Any], Any], from_json: Callable[[Any], Any]) -> Column:
    """A document of which many rows have the same: they get one value, which must be immutable."""

    def decode(stored: str) -> Any:
        return from_json(json.loads(stored))

    shared = lru_cache(maxsize=SHARED_VALUES)(decode)

    def read(value: Value) -> Any:
        stored = read_text(value)
        return shared(stored) if len(stored) <= SHARED_LENGTH else decode(stored)

    return _column(name, lambda value: document(to_json(value)), read, None, name)


def write_columns(columns: Sequence[Column], value: object) -> Row:
    row: Row = {}
    for column in columns:
        member = getattr(value, column.field)
        if member is None or (column.absent is not None and member == column.absent):
            continue
        row[column.name] = column.write(member)
    return row


def read_columns(columns: Sequence[Column], row: Row) -> dict[str, Any]:
    """The fields that the row holds, for the constructor of the value."""
    return {column.field: column.read(row[column.name]) for column in columns if column.name in row}


def known_members(kind: type, stored: dict[str, Any]) -> dict[str, Any]:
    """Without those that a later version added."""
    return {member.name: stored[member.name] for member in fields(kind) if member.name in stored}


def seconds_until(expires_at: int) -> Value:
    """A TTL attribute: whole seconds, never early."""
    return whole(-(-expires_at // 1000))
