"""A receiver that answers 410 wants no more calls: its job is paused, with the reason, until somebody resumes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shared.domain.entry import announce, entry_keys
from shared.domain.errors import StoreError
from shared.domain.events import Event, job_changed
from shared.domain.job import JobState, paused
from shared.observability.logs import logger_for
from shared.ports import Clock, JobStore, JobWrite, RevisionConflict

_logger = logger_for("worker")

_ATTEMPTS = 3
PAUSED_BY = "carillon:410"


def _nobody(_: Iterable[Event]) -> None:
    pass


class Pauses:
    def __init__(
        self,
        job_store: JobStore,
        clock: Clock,
        *,
        shard_count: int,
        announce: Callable[[Iterable[Event]], None] = _nobody,
    ) -> None:
        self._announce = announce
        self._job_store = job_store
        self._clock = clock
        self._shard_count = shard_count

    def pause(self, job_key: str, target: Mapping[str, Any], *, reason: str) -> bool:
        """Whether the job is paused now. It is left alone when it calls something else by now, or has ended."""
        try:
            return self._pause(job_key, target, reason)
        except StoreError as error:
            _logger.warning(
                "a job could not be paused", extra={"action": "job.pause", "job_key": job_key, "error": str(error)}
            )
            return False

    def _pause(self, job_key: str, target: Mapping[str, Any], reason: str) -> bool:
        job = self._job_store.get(job_key)
        for _ in range(_ATTEMPTS):
            if job is None or job.target != target or job.state is not JobState.ACTIVE:
                return job is not None and job.state is JobState.PAUSED
            now = self._clock.now()
            after, entry = announce(
                paused(job, now=now, by=PAUSED_BY, reason=reason), shard_count=self._shard_count, at=now
            )
            outcome = self._job_store.write(
                JobWrite(
                    job=after,
                    previous=job,
                    put_entry=entry,
                    remove_entries=entry_keys(job, shard_count=self._shard_count),
                )
            )
            if not isinstance(outcome, RevisionConflict):
                _logger.info("a job was paused", extra={"action": "job.pause", "job_key": job_key, "by": PAUSED_BY})
                self._announce([job_changed(after, job)])
                return True
            job = outcome.current
        return False
