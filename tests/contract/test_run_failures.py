"""The failed runs of an owner, newest first."""

from __future__ import annotations

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant
from shared.domain.run import Run, RunError, RunStatus
from shared.ports import FailureFilter
from tests.contract.stored import stored_run
from tests.contract.stores import Stores
from tests.contract.values import NOW, finish_of, make_run, make_waiting

ALL = FailureFilter()


def failure(stores: Stores, number: int, *, job_key: str = "acme/job", error: str = "http_5xx") -> Run:
    run = make_run(
        NOW + number,
        job_key=job_key,
        status=RunStatus.FAILED if number % 2 else RunStatus.TIMED_OUT,
        ended_at=Instant(NOW + number),
        error=RunError(error, "m"),
    )
    return stored_run(stores, run)


def listed(stores: Stores, only: FailureFilter = ALL, *, limit: int = 3) -> list[Run]:
    runs: list[Run] = []
    cursor = None
    while True:
        page = stores.runs.list_failures("acme", only=only, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        runs += page.items
        cursor = page.cursor
        if cursor is None:
            return runs


def test_failures_are_listed_newest_first_over_pages(stores: Stores) -> None:
    runs = [failure(stores, number) for number in range(20)]

    assert listed(stores) == runs[::-1]


def test_only_failures_of_the_owner_are_listed(stores: Stores) -> None:
    failure(stores, 1, job_key="other/job")
    mine = failure(stores, 2)
    stores.runs.insert([make_run(NOW + 3), make_run(NOW + 4, status=RunStatus.SKIPPED, ended_at=NOW)])

    assert listed(stores) == [mine]


def test_failures_of_one_instant_are_all_listed(stores: Stores) -> None:
    runs = [
        make_run(NOW + number, status=RunStatus.FAILED, ended_at=NOW, error=RunError("e", "m")) for number in range(12)
    ]
    stores.runs.insert(runs)

    assert sorted(run.run_id for run in listed(stores)) == sorted(run.run_id for run in runs)


def test_a_filter_admits_by_job_error_and_time(stores: Stores) -> None:
    runs = [failure(stores, number) for number in range(6)]
    other = failure(stores, 9, job_key="acme/other", error="timeout")

    assert listed(stores, FailureFilter(job_id="other")) == [other]
    assert listed(stores, FailureFilter(error_type="timeout")) == [other]
    span = FailureFilter(since=Instant(NOW + 2), until=Instant(NOW + 4))
    assert listed(stores, span) == [runs[3], runs[2]]


def test_a_run_that_failed_is_listed_until_it_is_planned_again(stores: Stores) -> None:
    run = make_run()
    stores.runs.insert([run])
    stores.runs.finish([finish_of(run, status=RunStatus.FAILED)])
    [failed] = listed(stores)
    assert failed.run_id == run.run_id
    again = make_waiting(token=2)

    stores.runs.take_over(again, seen=failed)

    assert listed(stores) == []


@pytest.mark.parametrize("cursor", ["", "x", "W10", "WyJqb2JzIiwiYWNtZSIsW11d"])
def test_a_foreign_cursor_is_refused(stores: Stores, cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        stores.runs.list_failures("acme", only=ALL, limit=1, cursor=cursor)
