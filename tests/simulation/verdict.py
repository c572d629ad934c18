"""What must hold once the world has healed and settled, over the whole history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.domain.instants import SECOND
from shared.domain.job import JobState
from shared.domain.run import RunStatus
from tests.simulation.generations import Fire, Generation
from tests.simulation.ledger import Violation
from tests.simulation.spans import spans_of

if TYPE_CHECKING:
    from tests.simulation.world import World

#: A message still in the queue is a duplicate; its slot is looked up, not the message.
_LATE_MS = 8 * SECOND
#: An entry is met by the sweep that follows its commit.
_SWEEP_MS = 2 * SECOND


def problems_at_the_end(world: World, owed_until: int) -> list[Violation]:
    """What is not settled (yet): I1, runs without an end, shards without an owner, entries without a job."""
    return [
        *_lost(world, owed_until),
        *_unfinished(world, owed_until),
        *ownerless(world),
        *_orphans(world, owed_until),
        *_uncompleted(world, owed_until),
    ]


def promises_broken(world: World) -> list[Violation]:
    """What can be judged only at the end, and cannot heal."""
    return [*_stale(world), *_late(world), *_held_up(world), *_attempts(world)]


def owed(world: World, owed_until: int) -> Iterator[tuple[Generation, Fire]]:
    """Every slot that must have fired, or been recorded, by then: those of a generation that held long enough."""
    for generations in world.ledger.generations.values():
        for generation in generations:
            if generation.job.state is not JobState.ACTIVE:
                continue
            ended_at = generation.ended_at
            until = owed_until if ended_at is None else min(owed_until, ended_at - world.profile.grace_ms)
            if generation.committed_at > until or _was_never_read(world, generation):
                continue
            index = 0
            while (fire := generation.fire(index)) is not None and fire.due <= until:
                yield generation, fire
                index += 1


def _lost(world: World, owed_until: int) -> Iterator[Violation]:
    if world.profile.is_strict:
        yield from _lost_of_spans(world, owed_until)
    ledger = world.ledger
    for generation, fire in owed(world, owed_until):
        number = generation.job.generation
        if fire.key not in ledger.purged_runs and not ledger.is_recorded(fire, number):
            is_sent = ledger.accepted.get(fire.key, 0) >= number
            detail = f"{fire.key} of generation {number}, due {fire.due}: " + (
                "sent, but there is no row" if is_sent else "never sent"
            )
            yield Violation("I1", world.engine.now, detail)


def _lost_of_spans(world: World, owed_until: int) -> Iterator[Violation]:
    """What a change overtook is owed as well, unless it moved or ended the schedule."""
    ledger = world.ledger
    for generations in ledger.generations.values():
        for span, after in spans_of(generations):
            until = span.ends_before(owed_until, grace_ms=world.profile.grace_ms, after=after)
            if span.committed_at > until or _was_never_read(world, span.generations[-1]):
                continue
            numbers, of_job = span.numbers, span.of_job(generations)
            for fire in span.fires(until):
                if fire.key not in ledger.purged_runs and not ledger.is_recorded_of(fire, numbers, of_job=of_job):
                    detail = f"{fire.key} of generations {sorted(numbers)}, due {fire.due}: overtaken by a change"
                    yield Violation("I1", world.engine.now, detail)


def _was_never_read(world: World, generation: Generation) -> bool:
    """Its entry could be read by no node until it was ended: nobody owes what it would have fired."""
    job = generation.job
    return generation.ended_at is not None and (job.job_key, job.generation) in world.spoiled.schedules


def _unfinished(world: World, owed_until: int) -> Iterator[Violation]:
    ledger, now, due = world.ledger, world.engine.now, owed_until - 10 * SECOND
    for key, run in ledger.rows.items():
        starts_at = max(run.fire_at, run.lease_until) if run.status is RunStatus.WAITING else run.fire_at
        if run.status.is_alive and starts_at <= due and key not in ledger.purged_runs:
            yield Violation("I1", now, f"{key} is {run.status} for ever, token {run.token}")
        # Not the ledger but the table: a row that somebody removed before its time.
        is_kept = run.expires_at is None or run.expires_at > now
        if key not in world.tables.runs and is_kept:
            yield Violation("I1", now, f"the row of {key} is gone")
    for key in ledger.accepted:
        if key not in ledger.rows and key not in ledger.purged_runs and ledger.accepted_at[key] <= due:
            yield Violation("I1", now, f"{key} was sent and left no row")


def ownerless(world: World) -> Iterator[Violation]:
    """Shards that nobody serves now."""
    owners = {each.host.name: each.owned for each in world.live_nodes}
    for shard in range(world.profile.shards):
        lease = world.tables.leases.get(shard)
        if lease is None or shard not in owners.get(lease.owner or "", ()):
            yield Violation("I6", world.engine.now, f"shard {shard} has no owner: {lease}")


def _orphans(world: World, owed_until: int) -> Iterator[Violation]:
    for entries in world.tables.entries.values():
        for entry in entries.values():
            job = world.tables.jobs.get(entry.job_key)
            if entry.is_single and entry.schedule is None:
                if entry.next_at <= owed_until - 10 * SECOND:
                    yield Violation("I1", world.engine.now, f"single fire {entry.entry_id} is left")
            elif job is not None and job.generation != entry.generation:
                yield Violation("orphan", world.engine.now, f"{entry.entry_id} outlives its generation")


def _uncompleted(world: World, owed_until: int) -> Iterator[Violation]:
    """A job that has nothing left to fire says so."""
    for job_key, generations in world.ledger.generations.items():
        job, last = world.tables.jobs.get(job_key), generations[-1].last_fire()
        if world.profile.is_strict:
            last = next((span.last_fire(owed_until) for span, after in spans_of(generations) if after is None), None)
        if job is None or job.state is not JobState.ACTIVE or last is None or last.due > owed_until - 10 * SECOND:
            continue
        rows = [run for run in world.ledger.rows.values() if run.job_key == job_key]
        if job.overlap != "allow" and any(run.status.is_alive for run in rows):
            # Its last slot was left out for one that goes on: whose message was purged, or `_unfinished` says so.
            continue
        row = world.ledger.rows.get(last.key)
        if last.key not in world.ledger.purged_runs and (row is None or not row.status.is_alive):
            yield Violation("completion", world.engine.now, f"{job_key} is active, though {last.key} was its last run")


def _stale(world: World) -> Iterator[Violation]:
    """An owner hears of a change: it does not go on with what was before. An entry waits under the API's own time, and
    may be replaced before it was seen. What was sent before may be sent again: the audit does that.
    """
    grace_ms = world.profile.grace_ms + world.profile.skew_ms + 10 * SECOND
    for at, dispatch in world.ledger.sent:
        if dispatch.is_single or at != world.ledger.accepted_at.get(dispatch.key):
            continue
        for generation in world.ledger.generations[dispatch.job_key]:
            if generation.job.generation <= dispatch.generation or generation.committed_at > at - grace_ms:
                continue
            held_ms = min(at, at if generation.ended_at is None else generation.ended_at) - generation.committed_at
            if held_ms > grace_ms:
                detail = f"{dispatch.job_key}#{dispatch.generation} slot {dispatch.slot} was sent, though"
                yield Violation("stale", at, f"{detail} #{generation.job.generation} held {held_ms} ms by then")


def _late(world: World) -> Iterator[Violation]:
    """I6: in a calm world no fire is later than a fail-over takes."""
    if not world.profile.is_calm:
        return
    for generation, fire in owed(world, world.engine.now - 30 * SECOND):
        accepted_at = world.ledger.accepted_at.get(fire.key)
        if fire.key.job_key in world.spoiled.ever:
            continue
        visible_at = max(int(fire.due), generation.committed_at + _SWEEP_MS)
        if accepted_at is not None and accepted_at - visible_at > _LATE_MS:
            late_ms = accepted_at - visible_at
            yield Violation("I6", accepted_at, f"{fire.key} sent {late_ms} ms late")


def _held_up(world: World) -> Iterator[Violation]:
    """In a calm world a row that cannot be read delays the runs of no other job."""
    if not (world.profile.is_calm and world.profile.unreadable):
        return
    for start in world.ledger.starts:
        job = world.tables.jobs.get(start.key.job_key)
        if start.token > 1 or start.key.job_key in world.spoiled.ever or job is None or job.overlap != "allow":
            continue
        due = max(world.ledger.due_of[start.key], world.ledger.accepted_at[start.key])
        if start.at - due > _LATE_MS:
            yield Violation("alone", start.at, f"{start.key} started {start.at - due} ms late, beside unreadable rows")


def _attempts(world: World) -> Iterator[Violation]:
    """Where no worker dies, sleeps or is cut off, none is given up for lost."""
    if not world.profile.spares_workers:
        return
    for key, run in world.ledger.rows.items():
        if any(attempt.error is not None and attempt.error.type == "lost" for attempt in run.attempts):
            yield Violation("attempt", world.engine.now, f"{key}: attempt lost, though nobody died")
