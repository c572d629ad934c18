"""One page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`cursor` continues the list; None means that it ended. A page may be short or empty while a cursor is set.

    `unreadable` are the ids of what stands in this part of the list and cannot be read by this version.
    """

    items: tuple[T, ...]
    cursor: str | None = None
    unreadable: tuple[str, ...] = ()
