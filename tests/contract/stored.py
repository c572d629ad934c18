"""What stands in the tables of the stores under test."""

from __future__ import annotations

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.run import Run
from shared.ports import Written
from tests.contract.stores import Stores
from tests.contract.values import NOW, creation


def entries_of(stores: Stores) -> list[Entry]:
    reads = (stores.entries.announced, stores.entries.parked)
    pages = [page for read in reads for page in read(1, since=Instant(0), until=Instant(NOW * 2))]
    return [entry.read() for page in pages for entry in page]


def stored_job(stores: Stores, job: Job) -> Job:
    assert stores.jobs.write(creation(job)) == Written()
    found = stores.jobs.get(job.job_key)
    assert found is not None
    return found


def stored_run(stores: Stores, run: Run) -> Run:
    assert stores.runs.insert([run]) == [None]
    return run
