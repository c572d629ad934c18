"""One log line for each change: who did what to which job. Payload, headers and output never get here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shared.domain.job import Job
from shared.observability.logs import logger_for

if TYPE_CHECKING:
    # The gate itself comes here by way of the rates.
    from functions.api.gate import Call

_log = logger_for("api")


def record(action: str, call: Call, job: Job) -> None:
    note(action, call, job_id=job.job_id, generation=job.generation, revision=job.revision)


def note(action: str, call: Call, **what: object) -> None:
    """A change of anything."""
    ids = {"owner_id": call.caller.owner_id, "by": call.caller.name, "request_id": call.request_id}
    _log.info(action, extra={"action": action, **ids, **what})


def note_refused_key(key: str, why: str, request_id: str) -> None:
    """Strangers are told nothing of this; who operates Carillon can tell an owner why a key is not valid."""
    _log.info("key refused", extra={"action": "key.refuse", "key": key, "why": why, "request_id": request_id})


def note_unreadable(names: Sequence[str]) -> None:
    """Rows that a list leaves out."""
    for name in names:
        _log.error("a row cannot be read; the list goes on without it", extra={"action": "row.unreadable", "row": name})


def record_fault(error: Exception, request_id: str) -> None:
    """Carillon's own failure, with its trace."""
    _log.error("request failed", exc_info=error, extra={"action": "request.fail", "request_id": request_id})
