"""Runs that no schedule made: each is written with its single-fire entry in one transaction, and nothing else sends it.

Whoever asks for such a run by an Idempotency-Key gets one run, however often it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from functions.api.backend import Backend
from functions.api.bodies import Document, compact
from functions.api.changes import check_payload
from functions.api.editor import JobEditor
from functions.api.gate import Call
from functions.api.refusals import ChangeContended, JobEnded, RunNotFound
from functions.api.tracing import current_trace
from shared.domain.access import Receipt
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import RunKey, job_key, run_id_of
from shared.domain.run import Run, RunKind, RunStatus
from shared.ports import ReceiptUsed, Written

_SUFFIX_BYTES: Final = 3
#: Two runs of one job in one millisecond share an id once in sixteen million.
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Planned:
    run: Run
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class RunPlanner:
    backend: Backend
    editor: JobEditor

    def job_to_run(self, call: Call, job_id: str) -> Job:
        """The job, if a run of it can start now: a pause stops its schedule, and not a person.

        Raises JobNotFound, JobEnded.
        """
        job = self.editor.job(call, job_id)
        if job.state is JobState.CANCELLED:
            raise JobEnded(job_id, job.state)
        return job

    def run_now(self, call: Call, job_id: str, document: Document) -> Planned:
        """With the document's payload, if it has one. Raises as `job_to_run` and `check_payload`, KeyReused and
        ChangeContended.
        """
        receipt = self.editor.receipt(call)
        if receipt is not None:
            return self._again(receipt)
        job = self.job_to_run(call, job_id)
        check_payload(document.get("payload"), job.target, at_most=self.backend.settings.payload_bytes)
        for _ in range(_TRIES):
            now = self.backend.clock.now()
            suffix = f"-m{self.backend.randomness.random_bytes(_SUFFIX_BYTES).hex()}"
            run = self.waiting(job, now, kind=RunKind.MANUAL, run_id=run_id_of(now, suffix), now=now)
            run = replace(run, payload_json=payload_json_of(document))
            receipt = None
            if call.keyed is not None:
                receipt = replace(call.keyed.receipt_for(job, now), run_id=run.run_id)
            outcome = self.backend.plan(run, lane=job.lane, receipt=receipt)
            if isinstance(outcome, Written):
                return Planned(run)
            if isinstance(outcome, ReceiptUsed) and call.keyed is not None:
                return self._again(call.keyed.check(outcome.receipt))
        raise ChangeContended(job_id)

    def waiting(self, job: Job, slot: Instant, *, kind: RunKind, run_id: str, now: Instant) -> Run:
        """A run that waits for its first attempt, which starts as soon as a worker has it."""
        return Run(
            job_key=job.job_key,
            run_id=run_id,
            kind=kind,
            slot=slot,
            fire_at=now,
            status=RunStatus.WAITING,
            generation=job.generation,
            token=0,
            claim_id=self.backend.new_claim_id(),
            lease_until=now,
            trace=current_trace(),
        )

    def _again(self, receipt: Receipt) -> Planned:
        """The run of an earlier request under the same key."""
        run_id = receipt.run_id or ""
        run = self.backend.runs.get(RunKey(job_key(receipt.owner_id, receipt.job_id), run_id))
        if run is None:
            raise RunNotFound(receipt.job_id, run_id)
        return Planned(run, is_repeat=True)


def payload_json_of(document: Document) -> str | None:
    """The member `payload` of a request to run; null is a payload, and leaving it out is none."""
    return compact(document["payload"]) if "payload" in document else None
