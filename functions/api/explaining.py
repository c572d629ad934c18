"""Why a slot ran, runs, or does not: pure, over what was read of its job, entry, shard and run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from shared.domain.entry import Entry
from shared.domain.fleet import FleetSnapshot, Lease
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Job, JobState
from shared.domain.run import Run, RunStatus
from shared.domain.schedules import At, fire_at, is_slot, next_slot

Outcome = Literal["ran", "running", "waiting", "did_not_run", "not_due"]

#: What each reason means, with the members of `Evidence.words` filled in.
SENTENCES: Final[Mapping[str, str]] = {
    "paused": "the job was paused, and starts nothing until it is resumed",
    "cancelled": "the job or the run was cancelled",
    "excluded": "its date is excluded by the job's schedule",
    "not_planned": "the job's schedule has no slot at this instant",
    "misfired": "it was too late when it could have been fired, and the job's misfire policy left it out",
    "overlap": "an earlier run was still going, and the job's overlap policy left this one out",
    "place": "an earlier run is still going; this one looks for a place again at {lease_until}",
    "owner_maximum": "the owner has as many runs going as this deployment allows; it looks again at {lease_until}",
    "receiver_busy": "as many webhooks of the owner as may wait for its host do so; it looks again at {lease_until}",
    "unreadable_job": "its worker's version cannot read the job; another one looks at it at {lease_until}",
    "handed_back": "its worker was stopped before the start, and another one takes it",
    "superseded": "the job was changed at {from_at}; this slot belongs to what it was before",
    "brake": "firing is off for the whole fleet: PUT /v1/fleet/firing turns it on",
    "no_owner": "no scheduler node owns shard {shard}; one takes it within seconds if any is alive",
    "not_dispatched": "shard {shard} of node {owner} has settled everything up to {watermark} and is not there yet",
    "in_lane": "it was handed to lane {lane}, and no worker has claimed it: wait, or add workers to the lane",
    "retry": "an attempt failed, and the next one is at {lease_until}",
    "no_record": "there is no record of it: the job has ended, and its runs are kept for a limited time",
    "future": "its time has not come",
}
#: Of runs that a worker claimed and gave up before their start, by the reason in their row.
_WAITS: Final[Mapping[str, str]] = {
    "overlap": "place",
    "owner_maximum": "owner_maximum",
    "receiver_busy": "receiver_busy",
    "handed_back": "handed_back",
    "unreadable_job": "unreadable_job",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """`run` is the run of this slot, or the row of the gap that the slot is in; None when there is neither."""

    job: Job
    slot: Instant
    run: Run | None
    entry: Entry | None
    shard: int
    fleet: FleetSnapshot
    now: Instant

    @property
    def lease(self) -> Lease:
        return self.fleet.lease(self.shard)

    @property
    def fire_at(self) -> Instant:
        is_own = self.run is not None and self.run.gap is None
        return self.run.fire_at if self.run and is_own else fire_at(self.job.schedule, self.job.job_key, self.slot)

    @property
    def words(self) -> dict[str, object]:
        return {
            "from_at": to_rfc3339(self.job.from_at),
            "shard": self.shard,
            "owner": self.lease.owner,
            "watermark": to_rfc3339(self.lease.watermark),
            "lane": self.job.lane,
            "lease_until": to_rfc3339(self.run.lease_until) if self.run else None,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    outcome: Outcome
    reason: str | None = None
    detail: str = ""


def in_question(job: Job, newest: Run | None, now: Instant) -> Run | Instant | None:
    """What somebody who names nothing asks about: the first slot that should have fired since the newest run; else that
    run, whoever asked for it; else the first slot to come.
    """
    coming = _coming(job, newest)
    is_due = coming is not None and fire_at(job.schedule, job.job_key, coming) <= now
    return newest if newest is not None and not is_due else coming


def _coming(job: Job, newest: Run | None) -> Instant | None:
    """The first slot behind the newest run, wherever that is; without a run, of a job that fires no more too."""
    if isinstance(job.schedule, At):
        slot = job.schedule.instant
        return slot if newest is None or newest.slot <= slot else None
    if newest is None:
        return next_slot(job.schedule, Instant(job.from_at - 1))
    after = max(job.from_at - 1, newest.slot)
    return next_slot(job.schedule, Instant(after)) if job.state is JobState.ACTIVE else None


def explain(evidence: Evidence) -> Finding:
    outcome, reason = _found(evidence)
    if reason is None:
        return Finding(outcome)
    return Finding(outcome, reason, SENTENCES.get(reason, reason).format(**evidence.words))


def _found(evidence: Evidence) -> tuple[Outcome, str | None]:
    run = evidence.run
    if run is None:
        return _without_run(evidence)
    if run.status is RunStatus.RUNNING:
        return "running", None
    if run.status is RunStatus.WAITING:
        if (waits_for := _WAITS.get(run.reason or "")) is not None:
            return "waiting", waits_for
        return "waiting", "retry" if run.has_begun else _why_not_yet(evidence, run.lease_until)
    if run.status in {RunStatus.SKIPPED, RunStatus.CANCELLED} and not run.has_begun:
        return "did_not_run", "misfired" if run.reason == "misfire" else run.reason or "cancelled"
    return "ran", None


def _without_run(evidence: Evidence) -> tuple[Outcome, str]:
    job, slot = evidence.job, evidence.slot
    if job.state is JobState.CANCELLED:
        return "did_not_run", "cancelled"
    if slot < job.from_at and not isinstance(job.schedule, At):
        return "did_not_run", "superseded"
    if not is_slot(job.schedule, slot):
        is_excluded = is_slot(replace(job.schedule, exclude=()), slot)
        return "did_not_run", "excluded" if is_excluded else "not_planned"
    if job.state is JobState.PAUSED:
        return "did_not_run", "paused"
    if job.state is JobState.COMPLETED:
        return "did_not_run", "no_record"
    reason = _why_not_yet(evidence, evidence.fire_at)
    return "not_due" if evidence.fire_at > evidence.now else "waiting", reason


def _why_not_yet(evidence: Evidence, due: Instant) -> str:
    """Of a fire that should come, or should have come, at `due`."""
    if not evidence.fleet.control.is_firing:
        return "brake"
    if due > evidence.now:
        return "future"
    if evidence.lease.owner is None:
        return "no_owner"
    is_single = evidence.entry is not None and evidence.entry.is_single
    # A single fire's entry is deleted once the lane has it; a recurring one's watermark says so.
    is_with_scheduler = is_single or (evidence.run is None and evidence.lease.watermark < due)
    return "not_dispatched" if is_with_scheduler else "in_lane"


def steps_of(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """The way of the slot so far: each step with its instant, None where it was not reached."""
    job, entry, lease, run = evidence.job, evidence.entry, evidence.lease, evidence.run
    yield {"step": "created", "at": to_rfc3339(job.created_at), "by": job.created_by}
    yield {"step": "changed", "at": to_rfc3339(job.from_at), "generation": job.generation, "state": str(job.state)}
    yield {
        "step": "entry",
        "at": to_rfc3339(entry.next_at) if entry else None,
        "kind": _kind_of(entry),
    }
    yield {
        "step": "shard",
        "at": to_rfc3339(lease.watermark) if lease.watermark else None,
        "shard": evidence.shard,
        "owner": lease.owner,
        "epoch": lease.epoch,
    }
    yield {"step": "dispatched", "at": _shown(run.enqueued_at if run else None), "lane": job.lane}
    yield {"step": "received", "at": _shown(run.received_at if run else None)}
    claimed = {"worker_id": run.worker_id or None if run else None, "fencing_token": run.token if run else None}
    yield {"step": "claimed", "at": _shown(run.claimed_at if run else None), **claimed}
    yield {
        "step": "started",
        "at": _shown(run.started_at if run else None),
        "revision": run.revision if run else None,
    }
    yield {
        "step": "ended",
        "at": _shown(run.ended_at if run else None),
        "status": str(run.status) if run else None,
    }


def _kind_of(entry: Entry | None) -> str | None:
    if entry is None:
        return None
    return "tombstone" if entry.is_tombstone else "single" if entry.is_single else "recurring"


def _shown(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
