"""Jobs and runs as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from functions.api import audit
from functions.api.backfilling import Candidate, Verdict
from functions.api.bodies import Document
from functions.api.explaining import Evidence, explain, steps_of
from functions.api.sightings import NodeStatus
from shared.domain.access import ApiKey
from shared.domain.durations import format_duration
from shared.domain.errors import StoredUnreadable
from shared.domain.fleet import FleetSnapshot, Lease
from shared.domain.grants import Grant
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Cancellation, Job, JobState, RetryPolicy
from shared.domain.keys import job_id_of
from shared.domain.redrive import PLANNED, REDRIVEN, Redriven
from shared.domain.run import Attempt, Run, RunError, RunStatus
from shared.domain.schedules import Misfire, PreviewSlot, slots, to_document
from shared.domain.signing import SigningKey

SLOTS_SHOWN: Final = 5


def definition(job: Job) -> Document:
    """What a user can set, in the shape in which it is set: the document that a PATCH merges into."""
    return {
        "job_id": job.job_id,
        "name": job.name,
        "group": job.group,
        "tags": dict(job.tags),
        "state": str(job.state),
        "schedule": to_document(job.schedule),
        "target": dict(job.target),
        "payload": job.payload,
        "lane": job.lane,
        "timeout": format_duration(job.timeout_ms),
        "retry": _retry(job.retry),
        "overlap": job.overlap,
        "max_concurrent": job.max_concurrent,
        "misfire": _misfire(job.misfire),
        "keep_after_completion": format_duration(job.keep_after_completion_ms),
    }


def job_document(job: Job, *, now: Instant, last_run: Run | None) -> Document:
    newest = None if last_run is None else {"run_id": last_run.run_id, "status": str(last_run.status)}
    return {**listed_job_document(job, now=now), "last_run": newest}


def listed_job_document(job: Job, *, now: Instant) -> Document:
    """Without what only the table of runs knows: a list reads that for nobody who did not ask."""
    return {
        **definition(job),
        "state_reason": job.state_reason,
        "generation": job.generation,
        "revision": job.revision,
        "next_slots": [to_rfc3339(slot) for slot in _coming(job, now)],
        "created_at": to_rfc3339(job.created_at),
        "created_by": job.created_by,
        "updated_at": to_rfc3339(job.updated_at),
        "updated_by": job.updated_by,
    }


def _coming(job: Job, now: Instant) -> list[Instant]:
    """None where this host cannot tell: the rest of the job is shown all the same."""
    if job.state is not JobState.ACTIVE:
        return []
    try:
        return list(islice(slots(job.schedule, now), SLOTS_SHOWN))
    except StoredUnreadable as error:
        audit.note_unreadable([f"the schedule of {job.job_id}: {error}"])
        return []


def run_document(job_id: str, run: Run) -> Document:
    document: Document = {
        "run_id": run.run_id,
        "job_id": job_id,
        "kind": str(run.kind),
        "slot": to_rfc3339(run.slot),
        "fire_at": to_rfc3339(run.fire_at),
        "status": str(run.status),
        "reason": run.reason,
        "attempt": run.attempt,
        "fencing_token": run.token,
        "worker_id": run.worker_id or None,
        "completion": run.completion,
        "enqueued_at": _instant(run.enqueued_at),
        "received_at": _instant(run.received_at),
        "started_at": _instant(run.started_at),
        "ended_at": _instant(run.ended_at),
        "revision": run.revision,
        "cancel_requested_at": _instant(run.cancel_requested_at),
        "retry_at": _instant(run.lease_until) if run.status is RunStatus.WAITING else None,
        "drift_ms": None if run.drift is None else dict(run.drift),
        "http_status": run.http_status,
        "output": run.output,
        "error": _error(run.error),
        "progress": run.progress,
        "attempts": [_attempt(each) for each in run.attempts],
    }
    if run.gap is not None:
        first, last = to_rfc3339(run.gap.first), to_rfc3339(run.gap.last)
        document["gap"] = {"first": first, "last": last, "count": run.gap.count}
    return document


def brief_run_document(run: Run) -> Document:
    """What a list of jobs shows of a run."""
    shown = ("run_id", "kind", "slot", "status", "reason", "started_at", "ended_at", "drift_ms")
    whole = run_document(job_id_of(run.job_key), run)
    return {name: whole[name] for name in shown}


def backfill_document(candidates: Sequence[Candidate], next_from: Instant | None, *, is_dry: bool) -> Document:
    return {
        "dry_run": is_dry,
        "planned": sum(each.verdict is Verdict.PLANNED for each in candidates),
        "items": [
            {"slot": to_rfc3339(each.slot), "run_id": each.run_id, "outcome": str(each.verdict)} for each in candidates
        ],
        "next_from": _instant(next_from),
    }


def redrive_document(items: Sequence[Redriven], cursor: str | None, *, is_dry: bool) -> Document:
    """Of each run what became of it."""
    return {
        "dry_run": is_dry,
        "planned": sum(each.outcome == PLANNED for each in items),
        "redriven": sum(each.outcome == REDRIVEN for each in items),
        "items": [
            {
                "job_id": job_id_of(each.key.job_key),
                "run_id": each.key.run_id,
                "starts_at": None if each.starts_at is None else to_rfc3339(each.starts_at),
                "outcome": each.outcome,
            }
            for each in items
        ],
        "next_cursor": cursor,
    }


def explanation_document(evidence: Evidence) -> Document:
    finding = explain(evidence)
    run = evidence.run
    return {
        "job_id": evidence.job.job_id,
        "run_id": None if run is None else run.run_id,
        "slot": to_rfc3339(evidence.slot),
        "fire_at": to_rfc3339(evidence.fire_at),
        "outcome": finding.outcome,
        "reason": finding.reason,
        "detail": finding.detail,
        "drift_ms": None if run is None or run.drift is None else dict(run.drift),
        "steps": list(steps_of(evidence)),
    }


def cancellation_document(cancellation: Cancellation) -> Document:
    return {
        "outcome": str(cancellation.outcome),
        "run_ids": list(cancellation.run_ids),
        "run_count": cancellation.run_count,
    }


def preview_document(line: PreviewSlot) -> Document:
    return {
        "slot": to_rfc3339(line.slot),
        "local": line.local,
        "fires": line.fires,
        "latest_fire_at": to_rfc3339(line.latest_fire_at),
        "marks": list(line.marks),
    }


def key_document(key: ApiKey) -> Document:
    return {
        "key_id": key.key_id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created_at": to_rfc3339(key.created_at),
        "created_by": key.created_by,
        "expires_at": _instant(key.expires_at),
        "revoked_at": _instant(key.revoked_at),
    }


def signing_key_document(key: SigningKey) -> Document:
    return {"key_id": key.key_id, "created_at": to_rfc3339(key.created_at), "created_by": key.created_by}


def grant_document(grant: Grant) -> Document:
    return {
        "grant_id": grant.grant_id,
        "owner_id": grant.owner_id,
        "target_type": grant.target_type,
        "resource": grant.resource,
        "role_arn": grant.role_arn,
        "members": list(grant.members),
        "hosts": list(grant.hosts),
        "created_at": to_rfc3339(grant.created_at),
        "created_by": grant.created_by,
    }


def fleet_document(
    snapshot: FleetSnapshot, statuses: Mapping[str, NodeStatus], *, shard_count: int, now: Instant
) -> Document:
    leases = [snapshot.lease(shard) for shard in range(snapshot.control.shard_count or shard_count)]
    return {
        "firing": snapshot.control.is_firing,
        "shard_count": len(leases),
        "nodes": [
            {
                "node_id": node.node_id,
                "status": statuses[node.node_id],
                "beat": node.beat,
                "version": node.version,
                "message_version": node.message_version,
                "started_at": to_rfc3339(node.started_at),
                "shards": [lease.shard for lease in leases if lease.owner == node.node_id],
            }
            for node in sorted(snapshot.nodes.values(), key=lambda node: node.node_id)
        ],
        "shards": [
            {
                "shard": lease.shard,
                "owner": lease.owner,
                "epoch": lease.epoch,
                "watermark": to_rfc3339(lease.watermark) if lease.watermark else None,
                "lag_ms": _lag_ms(lease, snapshot, statuses, now),
            }
            for lease in leases
        ],
    }


def _lag_ms(lease: Lease, snapshot: FleetSnapshot, statuses: Mapping[str, NodeStatus], now: Instant) -> int | None:
    """How long the oldest slot has been due that is not settled, as the owner says; 0: it owes nothing. Where no owner
    speaks, anything since the watermark may be owed.
    """
    owner = snapshot.nodes.get(lease.owner or "")
    if owner is not None and owner.owed_since is not None and statuses[owner.node_id] != "silent":
        return max(0, now - owner.owed_since.get(lease.shard, now))
    return max(0, now - lease.watermark) if lease.watermark else None


def etag_of(job: Job) -> str:
    return f'"{job.revision}"'


def _retry(retry: RetryPolicy) -> Document:
    return {
        "max_attempts": retry.max_attempts,
        "base": format_duration(retry.base_ms),
        "factor": retry.factor,
        "cap": format_duration(retry.cap_ms),
        "max_age": format_duration(retry.max_age_ms),
        "retry_on": list(retry.retry_on),
        "never_on": list(retry.never_on),
    }


def _misfire(misfire: Misfire) -> Document:
    shown: Document = {"policy": misfire.policy, "limit": misfire.limit}
    if misfire.within_gap:
        # From slot to slot another one, which no duration says: it stays what it is by being left out.
        return shown
    grace = None if misfire.grace_ms is None else format_duration(misfire.grace_ms)
    return {**shown, "grace": grace}


def _attempt(attempt: Attempt) -> Document:
    return {
        "attempt": attempt.attempt,
        "started_at": _instant(attempt.started_at),
        "ended_at": _instant(attempt.ended_at),
        "http_status": attempt.http_status,
        "error": _error(attempt.error),
        "worker_id": attempt.worker_id,
        "revision": attempt.revision,
    }


def _error(error: RunError | None) -> dict[str, Any] | None:
    return None if error is None else {"type": error.type, "message": error.message}


def _instant(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
