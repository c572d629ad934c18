from __future__ import annotations

import pytest

from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.overlap import Free, Holder, Taken, Yielding, next_look, places_of, room_for, yielding
from tests.contract.values import NOW, make_job

BOUND_MS = 90_000


def holder(run_id: str, token: int = 1, *, lease_until: int = NOW) -> Holder:
    return Holder(run_id, token, Instant(lease_until))


def room(mine: Holder, *holders: Holder, limit: int = 1, now: int = NOW) -> Free | Taken:
    return room_for(mine, holders, limit=limit, now=Instant(now), clock_bound_ms=BOUND_MS)


def test_there_is_room_below_the_limit_and_none_at_it() -> None:
    one, two = holder("1"), holder("2")

    assert room(holder("3"), one, two, limit=3) == Free()
    assert room(holder("3"), one, two, limit=2) == Taken((one, two))


def test_a_holder_counts_until_its_lease_is_over_by_the_clock_bound() -> None:
    silent = holder("1")

    assert room(holder("2"), silent, now=NOW + BOUND_MS) == Taken((silent,))
    assert room(holder("2"), silent, now=NOW + BOUND_MS + 1) == Free(gone=(silent,))


def test_an_older_claim_of_the_same_run_is_no_other_holder_and_a_newer_one_refuses() -> None:
    assert room(holder("1", 2), holder("1", 1)) == Free()
    assert room(holder("1", 1), holder("1", 1)) == Free()
    assert room(holder("1", 1), holder("1", 2), limit=9) == Taken((holder("1", 2),))


@pytest.mark.parametrize(
    ("overlap", "limit", "places"),
    [("allow", None, None), ("allow", 3, 3), ("skip", None, 1), ("buffer_one", None, 1), ("cancel_other", None, 1)],
)
def test_runs_are_counted_only_where_the_job_says_so(overlap: str, limit: int | None, places: int | None) -> None:
    assert places_of(make_job(overlap=overlap, max_concurrent=limit)) == places


def test_an_earlier_run_never_cancels_a_later_one() -> None:
    job = make_job(overlap="cancel_other")

    assert yielding(job, "2", [holder("1")]) is Yielding.CANCEL
    assert yielding(job, "2", [holder("3")]) is Yielding.SKIP


def test_only_the_many_that_wait_for_a_limit_look_less_often_the_longer_they_wait() -> None:
    looks = [
        next_look(since=NOW, now=Instant(NOW + waited), are_many=True) - NOW - waited
        for waited in (0, MINUTE, 60 * MINUTE)
    ]

    assert looks == [4 * SECOND, 12 * SECOND, 120 * SECOND]
    assert next_look(since=Instant(0), now=NOW, are_many=False) == NOW + 4 * SECOND


@pytest.mark.parametrize(
    ("overlap", "by", "what"),
    [
        ("skip", "1", Yielding.WAIT),
        ("buffer_one", "1", Yielding.WAIT),
        ("cancel_other", "3", Yielding.WAIT),
        ("cancel_other", "1", Yielding.CANCEL),
        ("allow", "1", Yielding.WAIT),
    ],
)
def test_a_run_that_has_begun_is_never_skipped(overlap: str, by: str, what: Yielding) -> None:
    assert yielding(make_job(overlap=overlap), "2", [holder(by)], has_begun=True) is what
