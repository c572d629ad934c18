"""The failed runs of an owner that are chosen by what is known of them, and of their jobs.

The list of failed runs says nothing of groups and tags, so the jobs are read for these, as they are now: a run whose
job is gone belongs to no group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from functions.api.backend import Backend
from functions.api.readable import readable
from shared.domain.job import Job
from shared.domain.pages import Page
from shared.domain.run import Run
from shared.ports import FailureFilter, JobFilter

#: Pages of the list that are read for one answer: a group with few failures answers short pages rather than slow ones.
PAGES_READ: Final = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    failures: FailureFilter = FailureFilter()
    jobs: JobFilter = JobFilter()

    @property
    def is_everything(self) -> bool:
        """Nothing chooses: an empty group is the name of none."""
        return self.failures == FailureFilter() and not self.jobs.group and not self.jobs.tags


def failed_runs(backend: Backend, owner_id: str, wanted: Wanted, *, limit: int, cursor: str | None) -> Page[Run]:
    """Newest first; a page may be short or empty while it has a cursor."""
    found: list[Run] = []
    jobs: dict[str, Job] = {}
    unreadable: tuple[str, ...] = ()
    for _ in range(PAGES_READ):
        page = backend.runs.list_failures(owner_id, only=wanted.failures, limit=limit - len(found), cursor=cursor)
        if wanted.jobs == JobFilter():
            return page
        unreadable += page.unreadable
        jobs |= readable(backend.jobs.get_many, {run.job_key for run in page.items} - jobs.keys())
        found += [run for run in page.items if (job := jobs.get(run.job_key)) and wanted.jobs.admits(job)]
        cursor = page.cursor
        if cursor is None or len(found) == limit:
            break
    return Page(tuple(found), cursor, unreadable)
