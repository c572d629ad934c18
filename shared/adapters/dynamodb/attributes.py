"""DynamoDB's typed values. Structure is kept as JSON text, so that any JSON comes back as it was, empty texts, floats
and emoji included.
"""

from __future__ import annotations

import json
from typing import Any

#: `{"S": text}` and the like; the stubs would have a type of its own for each of three directions.
Value = Any
Row = dict[str, Value]


def text(value: str) -> Value:
    return {"S": value}


def whole(value: int) -> Value:
    return {"N": str(int(value))}


def flag(value: bool) -> Value:
    return {"BOOL": value}


def document(value: Any) -> Value:
    return {"S": _compact(value)}


def read_text(value: Value) -> str:
    return str(value["S"])


def read_whole(value: Value) -> int:
    return int(value["N"])


def read_flag(value: Value) -> bool:
    return bool(value["BOOL"])


def read_document(value: Value) -> Any:
    return json.loads(value["S"])


def length_of(row: Row) -> int:
    """About how many bytes a row takes: of its texts, which are what may be long."""
    length, left = 0, list(row.values())
    while left:
        value = left.pop()
        if "S" in value:
            length += len(value["S"])
        elif "M" in value:
            left.extend(value["M"].values())
    return length


def _compact(value: Any) -> str:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        compact.encode()
    except UnicodeEncodeError:
        # A lone surrogate is no UTF-8, but has a JSON escape.
        return json.dumps(value, separators=(",", ":"))
    return compact
