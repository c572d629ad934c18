"""Values that the suites store: plain ones, of which a test changes what it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.domain.access import ApiKey, Receipt, Scope
from shared.domain.entry import Entry
from shared.domain.grants import Grant
from shared.domain.instants import MINUTE, Instant
from shared.domain.job import Job, next_generation
from shared.domain.keys import announced_id, run_id_of, schedule_name
from shared.domain.message import Dispatch
from shared.domain.run import Attempt, Finish, Run, RunError, RunKind, RunStatus
from shared.domain.schedules import Every
from shared.domain.signing import SigningKey
from shared.ports import HeartbeatAnswer, JobWrite

NOW = Instant(1_795_737_600_000)

#: Short names of answers that many tests compare with.
SUCCEEDED, FAILED, CANCELLED = RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED
WAITING = RunStatus.WAITING
KEPT, CANCEL_REQUESTED, FENCED = HeartbeatAnswer.KEPT, HeartbeatAnswer.CANCEL_REQUESTED, HeartbeatAnswer.FENCED


def make_job(job_id: str = "job", **changes: Any) -> Job:
    job = Job(
        owner_id="acme",
        job_id=job_id,
        schedule=Every(interval_ms=MINUTE, anchor=NOW),
        target={"type": "http", "url": "https://example.com"},
        generation=NOW,
        from_at=NOW,
        created_at=NOW,
        updated_at=NOW,
        created_by="crl_1",
        updated_by="crl_1",
        entry_at=NOW,
    )
    return replace(job, **changes)


def make_entry(job: Job | None = None, **changes: Any) -> Entry:
    job = make_job() if job is None else job
    entry = Entry(
        shard=1,
        entry_id="",
        job_key=job.job_key,
        generation=job.generation,
        next_at=NOW,
        from_at=job.from_at,
        schedule=job.schedule,
        fresh=True,
    )
    entry = replace(entry, **changes)
    if entry.entry_id:
        return entry
    return replace(entry, entry_id=announced_id(entry.next_at, schedule_name(entry.job_key, entry.generation)))


def creation(job: Job, *, receipt: Receipt | None = None) -> JobWrite:
    return JobWrite(job=job, previous=None, put_entry=make_entry(job), receipt=receipt)


def change_of(job: Job, **changes: Any) -> JobWrite:
    """A change of the schedule or state of a job that is stored."""
    changed = replace(
        job,
        generation=next_generation(job.generation, NOW),
        revision=job.revision + 1,
        updated_at=Instant(job.updated_at + 1),
        **changes,
    )
    old = make_entry(job).key
    return JobWrite(changed, job, put_entry=make_entry(changed), remove_entries=(old, old.parked))


def make_receipt(key: str = "once", **changes: Any) -> Receipt:
    receipt = Receipt(
        owner_id="acme",
        idempotency_key=key,
        fingerprint="f" * 64,
        at=NOW,
        job_id="job",
        generation=NOW,
        revision=1,
        expires_at=Instant(NOW + MINUTE),
    )
    return replace(receipt, **changes)


def receipt_of(access_id: str, **changes: Any) -> Receipt:
    """Of a request that made something other than a job."""
    return make_receipt(job_id="", generation=0, revision=0, access_id=access_id, **changes)


def make_run(slot: int = NOW, **changes: Any) -> Run:
    run = Run(
        job_key="acme/job",
        run_id=run_id_of(Instant(slot)),
        kind=RunKind.SCHEDULED,
        slot=Instant(slot),
        fire_at=Instant(slot),
        status=RunStatus.RUNNING,
        generation=NOW,
        claim_id="claim-1",
        worker_id="worker-1",
        lease_until=Instant(slot + MINUTE),
        claimed_at=Instant(slot),
    )
    return replace(run, **changes)


def finish_of(run: Run, **changes: Any) -> Finish:
    finish = Finish(key=run.key, token=run.token, status=RunStatus.SUCCEEDED, ended_at=Instant(run.slot + 5))
    return replace(finish, **changes)


def make_waiting(slot: int = NOW, **changes: Any) -> Run:
    """A run that was planned and not claimed yet."""
    waits = {"status": RunStatus.WAITING, "token": 0, "claim_id": "plan-1", "worker_id": "", "claimed_at": None}
    return make_run(slot, **waits | changes)


def postponement_of(run: Run, **changes: Any) -> Finish:
    """The finish of an attempt after which the run waits for the next one."""
    return finish_of(
        run,
        **{
            "status": RunStatus.WAITING,
            "lease_until": Instant(NOW + 90_000),
            "attempt": run.attempt + 1,
            "attempts": (Attempt(run.attempt, NOW, Instant(NOW + 5), "worker-1", RunError("http_5xx", "503")),),
            **changes,
        },
    )


def make_key(key_id: str = "a1", **changes: Any) -> ApiKey:
    key = ApiKey(
        key_id=key_id,
        owner_id="acme",
        secret_hash="0" * 64,
        scopes=frozenset({Scope.READ, Scope.WRITE}),
        created_at=NOW,
        created_by="root",
    )
    return replace(key, **changes)


def make_grant(number: int = 1, **changes: Any) -> Grant:
    grant = Grant(
        owner_id="acme",
        grant_id=f"grant-{number}",
        target_type="aws",
        resource=f"arn:aws:sqs:eu-central-1:123456789012:orders-{number}",
        created_at=NOW,
        created_by="key:root",
    )
    return replace(grant, **changes)


def make_signing_key(number: int = 1, **changes: Any) -> SigningKey:
    key = SigningKey(
        owner_id="acme", key_id=f"key-{number}", secret=f"whsec_{number}", created_at=NOW, created_by="key:root"
    )
    return replace(key, **changes)


def make_dispatch(number: int = 0, **changes: Any) -> Dispatch:
    slot = Instant(NOW + number)
    dispatch = Dispatch(
        job_key="acme/job",
        generation=NOW,
        slot=slot,
        fire_at=slot,
        run_id=run_id_of(slot),
        shard=1,
        epoch=2,
        enqueued_at=NOW,
    )
    return replace(dispatch, **changes)
