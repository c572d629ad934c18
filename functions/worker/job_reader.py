"""Jobs read in a batch: one that cannot be read must not keep the others from being read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shared.domain.errors import StoreError
from shared.domain.job import Job
from shared.observability.logs import logger_for
from shared.ports import JobStore

_logger = logger_for("worker")


@dataclass(frozen=True, slots=True)
class JobsRead:
    """`unreadable` says of each why: a later version wrote it, or it is broken. A job in neither does not exist."""

    found: Mapping[str, Job]
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def exists(self, job_key: str) -> bool:
        return job_key in self.found or job_key in self.unreadable


def read_jobs(job_store: JobStore, job_keys: Collection[str]) -> JobsRead:
    """In one call; only where that fails by what stands in a row, in a call for each. Raises StoreError."""
    try:
        return JobsRead(job_store.get_many(job_keys))
    except StoreError:
        raise
    except Exception:
        _logger.exception("jobs could not be read together", extra={"action": "run.read", "count": len(job_keys)})
    found: dict[str, Job] = {}
    unreadable: dict[str, str] = {}
    for key in sorted(job_keys):
        try:
            found.update(job_store.get_many([key]))
        except StoreError:
            raise
        except Exception as error:
            _logger.exception("a job cannot be read", extra={"action": "run.read", "job_key": key})
            unreadable[key] = f"{type(error).__name__}: {error}"
    return JobsRead(found, unreadable)
