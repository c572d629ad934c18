"""The jobs of an owner, page by page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.ports import JobFilter
from tests.contract.stored import stored_job
from tests.contract.stores import Stores
from tests.contract.values import NOW, creation, make_job


def pages_of(stores: Stores, limit: int, only: JobFilter) -> list[tuple[Job, ...]]:
    pages, cursor = [], None
    while True:
        page = stores.jobs.list_of_owner("acme", only=only, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        pages.append(page.items)
        cursor = page.cursor
        if cursor is None:
            return pages


@pytest.mark.parametrize("limit", [1, 7, 18, 100])
def test_the_jobs_of_an_owner_are_listed_newest_first(stores: Stores, limit: int) -> None:
    # Three were created at each instant.
    jobs = [
        stored_job(stores, make_job(f"job-{number}", created_at=Instant(NOW + number // 3))) for number in range(18)
    ]
    stored_job(stores, make_job("foreign", owner_id="acme2"))

    listed = [job for page in pages_of(stores, limit, JobFilter()) for job in page]

    assert [job.created_at for job in listed] == sorted((job.created_at for job in jobs), reverse=True)
    assert {job.job_id for job in listed} == {job.job_id for job in jobs}
    assert len(listed) == len(jobs)


def test_a_job_created_meanwhile_does_not_disturb_the_list(stores: Stores) -> None:
    for number in range(9):
        stored_job(stores, make_job(f"job-{number}", created_at=Instant(NOW + number)))
    first = stores.jobs.list_of_owner("acme", only=JobFilter(), limit=4)
    stored_job(stores, make_job("new", created_at=Instant(NOW + 100)))

    rest = stores.jobs.list_of_owner("acme", only=JobFilter(), limit=100, cursor=first.cursor)

    assert [job.job_id for job in (*first.items, *rest.items)] == [f"job-{number}" for number in range(8, -1, -1)]


def test_a_list_holds_what_its_filter_admits(stores: Stores) -> None:
    wanted = make_job("wanted", state=JobState.PAUSED, group="g", tags={"a": "b", "c": "d"}, name="nightly sync")
    others = [
        replace(wanted, job_id="1", state=JobState.ACTIVE),
        replace(wanted, job_id="2", group=""),
        replace(wanted, job_id="3", tags={"a": "x"}),
        replace(wanted, job_id="4", name="sync nightly"),
    ]
    for job in (wanted, *others):
        stored_job(stores, job)
    only = JobFilter(JobState.PAUSED, "g", {"a": "b"}, "night")

    assert [job for page in pages_of(stores, 2, only) for job in page] == [wanted]


def test_a_tag_is_found_by_how_it_is_spelled_wherever_its_colons_are(stores: Stores) -> None:
    wanted = make_job("wanted", tags={"aws:cloudformation:stack-name": "web:prod", "a": "b"})
    others = [replace(wanted, job_id="1", tags={"aws": "cloudformation"}), replace(wanted, job_id="2", tags={})]
    for job in (wanted, *others):
        stored_job(stores, job)
    only = JobFilter(tag_texts=("aws:cloudformation:stack-name:web:prod", "a:b"))

    assert [job for page in pages_of(stores, 2, only) for job in page] == [wanted]


def test_an_owner_without_jobs_has_an_empty_list(stores: Stores) -> None:
    assert pages_of(stores, 5, JobFilter()) == [()]


def test_the_jobs_of_an_owner_are_counted_up_to_a_limit(stores: Stores) -> None:
    for number in range(20):
        stores.jobs.write(creation(make_job(f"job-{number}")))
    stores.jobs.write(creation(make_job("foreign", owner_id="acme2")))

    assert stores.jobs.count_of_owner("acme", at_most=1_000) == 20
    assert stores.jobs.count_of_owner("acme", at_most=7) == 7
    assert stores.jobs.count_of_owner("none", at_most=7) == 0
