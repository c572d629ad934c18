"""Which statuses of an answer count as success: `2xx`, `200-299,404`."""

from __future__ import annotations

import re

DEFAULT_SUCCESS = "2xx"
_PART = re.compile(r"([1-5])xx|([1-5]\d\d)(?:-([1-5]\d\d))?", re.ASCII)
_MAX_LENGTH = 100


def parse_success(text: object) -> tuple[range, ...] | None:
    """None when this says nothing of the kind."""
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        return None
    found = [_PART.fullmatch(part.strip()) for part in text.split(",")]
    ranges = [_range_of(part) for part in found if part is not None]
    return tuple(ranges) if len(ranges) == len(found) and all(ranges) else None


def is_success(text: str, status: int) -> bool:
    return any(status in each for each in parse_success(text) or ())


def _range_of(part: re.Match[str]) -> range:
    if part[1]:
        return range(int(part[1]) * 100, int(part[1]) * 100 + 100)
    return range(int(part[2]), int(part[3] or part[2]) + 1)
