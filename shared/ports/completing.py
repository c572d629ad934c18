"""Completing the jobs that the ends of their runs leave nothing to fire."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.domain.completion import completes, is_over, kept_until, perhaps_over
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.keys import RunKey, run_id_of
from shared.domain.run import Run, RunStatus
from shared.domain.timing import ALIVE_READ_BACK_MS
from shared.ports.job_store import Completion, JobStore
from shared.ports.run_store import RunStore


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

    @property
    def may_be_told_by_rows(self) -> bool:
        """The last slot of its job may have been left out for it."""
        return self.job.overlap != "allow" and not self.status.is_alive and not self.completes


#: The jobs of these keys that are there and can be read, as they are now.
Read = Callable[[Collection[str]], Mapping[str, Job]]


def complete(
    job_store: JobStore, run_store: RunStore, ended: Sequence[Ended], *, read: Read, now: Instant
) -> list[Ended]:
    """Turn the jobs completed to which these ends leave nothing to fire; answers whose they are. Raises StoreError.

    A job that was changed since it was read is judged again as it is now: no other end will come to complete it.
    """
    completed: list[Ended] = []
    told = [each for each in ended if not each.may_be_told_by_rows]
    untold = _read_again(read, [each for each in ended if each.may_be_told_by_rows])
    left = [each for each in (*told, *untold) if _leaves_nothing(run_store, each, now)]
    while left:
        answers = job_store.complete([each.completion for each in left])
        completed += [each for each, is_done in zip(left, answers, strict=True) if is_done]
        refused = [each for each, is_done in zip(left, answers, strict=True) if not is_done]
        before = {each.job.job_key: each.job.generation for each in refused}
        again = _read_again(read, refused)
        left = [
            each
            for each in again
            if each.job.generation != before[each.job.job_key] and _leaves_nothing(run_store, each, now)
        ]
    return completed


def _read_again(read: Read, ended: Sequence[Ended]) -> list[Ended]:
    """Those whose job is there, with it as it is now."""
    jobs = read({each.job.job_key for each in ended}) if ended else {}
    return [replace(each, job=job) for each in ended if (job := jobs.get(each.job.job_key)) is not None]


def _leaves_nothing(run_store: RunStore, ended: Ended, now: Instant) -> bool:
    if ended.completes:
        return True
    job, run = ended.job, ended.run
    last = perhaps_over(job, run, ended.status, reason=run.reason, now=now)
    if last is None:
        return False
    alive = run_store.alive(job.job_key, since=Instant(now - ALIVE_READ_BACK_MS))
    return is_over(run_store.get(RunKey(job.job_key, run_id_of(last))), alive, run)
