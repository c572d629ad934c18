"""One page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`cursor` continues the list; None means that it ended. A page may be short or empty while a cursor is set."""

    items: tuple[T, ...]
    cursor: str | None = None
