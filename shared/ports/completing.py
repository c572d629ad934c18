"""Completing the jobs that the ends of their runs leave nothing to fire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.domain.completion import completes, kept_until
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.run import Run, RunStatus
from shared.ports.job_store import Completion, JobStore


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, and its job as it was read."""

    job: Job
    run: Run
    status: RunStatus
    ended_at: Instant

    @property
    def completion(self) -> Completion:
        return Completion(self.job.job_key, self.job.generation, kept_until(self.job, self.ended_at))

    @property
    def completes(self) -> bool:
        return completes(self.job, self.run, self.status)


def _no_more(_: Ended) -> bool:
    return False


def complete(job_store: JobStore, ended: Sequence[Ended], *, also: Callable[[Ended], bool] = _no_more) -> list[Ended]:
    """Turn the jobs completed to which these ends leave nothing to fire; answers whose they are. Raises StoreError.

    `also` says so of ends that alone do not tell.

    A job that was changed since it was read is judged again as it is now: no other end will come to complete it.
    """
    completed: list[Ended] = []
    left = [each for each in ended if each.completes or also(each)]
    while left:
        answers = job_store.complete([each.completion for each in left])
        completed += [each for each, is_done in zip(left, answers, strict=True) if is_done]
        again = _read_again(job_store, [each for each, is_done in zip(left, answers, strict=True) if not is_done])
        left = [each for each in again if each.completes or also(each)]
    return completed


def _read_again(job_store: JobStore, refused: Sequence[Ended]) -> list[Ended]:
    jobs = job_store.get_many({each.job.job_key for each in refused}) if refused else {}
    return [
        replace(each, job=job)
        for each in refused
        if (job := jobs.get(each.job.job_key)) is not None and job.generation != each.job.generation
    ]
