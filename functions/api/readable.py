"""Rows read together: one that cannot be read must not keep the others from being read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from functions.api import audit
from shared.domain.errors import StoredUnreadable

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def readable(get_many: Callable[[Collection[K]], dict[K, T]], keys: Collection[K]) -> dict[K, T]:
    """Those of the rows that can be read: in one call, and only where that fails for one of them in a call for each."""
    try:
        return get_many(keys)
    except StoredUnreadable:
        found: dict[K, T] = {}
    for key in keys:
        try:
            found |= get_many([key])
        except StoredUnreadable as error:
            audit.note_unreadable([error.what])
    return found
