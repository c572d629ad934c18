"""A cursor continues the list that gave it, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shared.adapters.cursors import encode_cursor
from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant
from shared.domain.pages import Page
from shared.ports import JobFilter
from tests.contract.stores import Stores
from tests.contract.values import NOW, creation, make_job, make_key, make_run

Listing = Callable[[Stores, str, str | None], Page[Any]]

LISTINGS: dict[str, Listing] = {
    "jobs": lambda stores, owner, cursor: stores.jobs.list_of_owner(owner, only=JobFilter(), limit=1, cursor=cursor),
    "runs": lambda stores, owner, cursor: stores.runs.list_of_job(f"{owner}/job", limit=1, cursor=cursor),
    "keys": lambda stores, owner, cursor: stores.access.keys_of_owner(owner, limit=1, cursor=cursor),
}

GARBAGE = ["", "x", "====", "bnVsbA", "\U0001f680", "[" * 5_000, "eyJhIjoxfQ"]


def filled(stores: Stores) -> Stores:
    for number in range(3):
        stores.jobs.write(creation(make_job(f"job{number}", created_at=Instant(NOW + number))))
        stores.access.put_key(make_key(f"key{number}"))
    stores.runs.insert([make_run(NOW + number) for number in range(3)])
    return stores


def assert_refused(stores: Stores, listing: Listing, cursor: str, owner: str = "acme") -> None:
    with pytest.raises(InvalidRequest) as refused:
        listing(stores, owner, cursor)
    assert [problem.pointer for problem in refused.value.problems] == ["#/cursor"]


@pytest.mark.parametrize("name", LISTINGS)
def test_garbage_is_no_cursor(stores: Stores, name: str) -> None:
    for garbage in GARBAGE:
        assert_refused(stores, LISTINGS[name], garbage)


@pytest.mark.parametrize("name", LISTINGS)
def test_a_cursor_of_another_list_or_owner_is_refused(stores: Stores, name: str) -> None:
    filled(stores)
    for other, listing in LISTINGS.items():
        cursor = listing(stores, "acme", None).cursor
        assert cursor is not None
        if other == name:
            assert_refused(stores, listing, cursor, owner="acme2")
        else:
            assert_refused(stores, LISTINGS[name], cursor)


@pytest.mark.parametrize("name", LISTINGS)
def test_a_cursor_with_a_position_of_another_shape_is_refused(stores: Stores, name: str) -> None:
    scope = "acme/job" if name == "runs" else "acme"
    positions: list[Any] = [None, 5, {}, [], [None], [[1]] * 8, [[-1, "job"]] * 8, [[10**50, "job"]] * 8, ["x"] * 8]
    positions += [[[NOW, "\ud800"]] * 8, [True] * 8, [[NOW, "a/b"]] * 7]
    for position in positions:
        assert_refused(stores, LISTINGS[name], encode_cursor(name, scope, position))
