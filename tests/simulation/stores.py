"""The memory adapters, with the ledger looking over their shoulder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from shared.adapters.memory import MemoryEntryStore, MemoryFleetStore, MemoryJobStore, MemoryRunStore, MemoryTables
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.errors import ItemRefused, OutcomeUnknown, StoreError
from shared.domain.fleet import FleetSnapshot, Lease, Node
from shared.domain.instants import Instant
from shared.domain.job import Cancellation, Job
from shared.domain.keys import EntryKey, RunKey
from shared.domain.run import Finish, Run, RunStatus
from shared.ports import JobWrite, WriteOutcome, Written
from shared.ports.fleet_store import BeatAnswer
from shared.ports.job_store import Completion
from shared.ports.run_store import Erased, Heartbeat, HeartbeatAnswer, PlanOutcome
from tests.simulation.engine import Engine
from tests.simulation.hosts import Host
from tests.simulation.ledger import Ledger
from tests.simulation.spoiled import Spoiled

#: Who was well for so long has beaten, as far as the table let it.
WELL_MS = 10_000
#: Nobody is dead for so short a silence: less than `dead` by more than one step between two reads.
WELL_SILENT_MS = 2_000


@dataclass(slots=True)
class RecordedTables(MemoryTables):
    ledger: Ledger | None = None

    def put_run(self, run: Run, alive_at: Instant | None) -> None:
        old = self.runs.get(run.key)
        MemoryTables.put_run(self, run, alive_at)
        if self.ledger is not None:
            self.ledger.row_written(old, run)
            self.ledger.executions.row_written(old, run)


class RecordedJobStore(MemoryJobStore):
    def __init__(self, tables: MemoryTables, ledger: Ledger, engine: Engine, spoiled: Spoiled) -> None:
        super().__init__(tables)
        self._ledger = ledger
        self._engine = engine
        self._spoiled = spoiled
        self.most_named: int | None = None

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        task = self._engine.current
        if task is not None:
            for key in job_keys:
                self._ledger.reads[task.host.name, key].append(self._engine.now)
        self._spoiled.check(job_keys)
        return super().get_many(job_keys)

    def write(self, change: JobWrite) -> WriteOutcome:
        before = self._tables.jobs.get(change.job.job_key)
        outcome = super().write(change)
        task = self._engine.current
        if outcome == Written() and task is not None and self._tables.jobs.get(change.job.job_key) is not before:
            self._ledger.writes[task.host.name].append(f"job {change.job.job_key} as {change.job.state}")
        if outcome == Written() and self._tables.jobs.get(change.job.job_key) is not before:
            self._ledger.job_written(change.job)
            entry = change.put_entry
            if entry is not None:
                # A fresh one starts at its first slot, though it may lie under a later instant, where a sweep looks.
                self._ledger.check_settled(entry, entry.from_at if entry.fresh else entry.next_at, "a new entry")
            self._spoiled.written(change)
        return outcome

    def record_cancellation(self, job_key: str, generation: int, cancellation: Cancellation) -> Cancellation:
        if self.most_named is not None and len(cancellation.run_ids) > self.most_named:
            raise ItemRefused("jobs.record_cancellation", "simulated: the row would be too large")
        return super().record_cancellation(job_key, generation, cancellation)

    def complete(self, completions: Sequence[Completion]) -> list[bool]:
        before = {each.job_key: self._tables.jobs.get(each.job_key) for each in completions}
        answers = super().complete(completions)
        for each in completions:
            job = before[each.job_key]
            if job is not None and self._tables.jobs.get(each.job_key) is not job:
                self._ledger.completed(job)
        return answers


class RecordedEntryStore(MemoryEntryStore):
    def __init__(self, tables: MemoryTables, ledger: Ledger, *, page_size: int) -> None:
        super().__init__(tables, page_size=page_size)
        self._ledger = ledger

    def delete(self, keys: Collection[EntryKey]) -> None:
        for key in keys:
            entry = self._tables.entries.get(key.shard, {}).get(key.entry_id)
            if entry is not None:
                self._check_settled(entry)
        super().delete(keys)

    def _check_settled(self, entry: Entry) -> None:
        """Before it goes."""
        job = self._tables.jobs.get(entry.job_key)
        is_of_schedule = entry.schedule is not None
        if is_of_schedule and (job is None or job.generation != entry.generation):
            return
        if entry.run_id is not None and not is_of_schedule:
            if (RunKey(entry.job_key, entry.run_id), entry.attempt) not in self._ledger.attempted:
                self._ledger.violate("I5", f"{entry.entry_id} is deleted, and its attempt was never sent")
        elif not entry.is_tombstone:
            self._check_deleted(entry.job_key, entry.generation)

    def _check_deleted(self, job_key: str, number: int) -> None:
        generation = self._ledger.generation_of(job_key, number)
        if generation is None:
            return
        while (fire := generation.fire(generation.settled)) is not None:
            if not self._ledger.is_settled(fire, number):
                self._ledger.violate("I5", f"{job_key}#{number} is deleted with slot {fire.slot} unsettled")
                return
            generation.settled += 1

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        is_moved = super().move(key, next_at)
        entry = self._tables.entries.get(key.shard, {}).get(key.parked.entry_id)
        if entry is not None:
            self._ledger.check_settled(entry, entry.next_at, "a move")
        return is_moved

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        super().clear_fresh(keys)
        for key in keys:
            entry = self._tables.entries.get(key.shard, {}).get(key.entry_id)
            if entry is not None:
                watermark = self._tables.leases.get(key.shard, Lease(key.shard)).watermark
                self._ledger.check_settled(entry, max(watermark + 1, entry.next_at), "clearing fresh")


class RecordedRunStore(MemoryRunStore):
    def __init__(self, tables: MemoryTables, ledger: Ledger, engine: Engine) -> None:
        super().__init__(tables)
        self._ledger = ledger
        self._engine = engine
        self.full_jobs: set[str] = set()
        self.unanswered = 0.0
        self._dice = Random(engine.now)

    def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
        taken = [run for run in runs if not self._is_full(run)]
        put = super().insert(taken)
        answers: dict[RunKey, Run | StoreError | None] = dict(zip([run.key for run in taken], put, strict=True))
        return [answers.get(run.key, ItemRefused("runs.insert", "simulated: no room")) for run in runs]

    def record(self, runs: Sequence[Run]) -> list[bool]:
        """They hold nothing of their jobs, and are too small to be refused."""
        full, self.full_jobs = self.full_jobs, set()
        try:
            return super().record(runs)
        finally:
            self.full_jobs = full

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        answers = super().finish(finishes)
        return [OutcomeUnknown("runs.finish", "simulated") if self._is_unanswered() else answer for answer in answers]

    def _is_full(self, run: Run) -> bool:
        """Of its job, the table takes no more."""
        return run.job_key in self.full_jobs and run.key not in self._tables.runs

    def _is_unanswered(self) -> bool:
        return self.unanswered > 0 and self._dice.random() < self.unanswered

    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None = None) -> PlanOutcome:
        before = self._tables.runs.get(run.key)
        outcome = super().plan(run, entry, seen=seen, receipt=receipt)
        task = self._engine.current
        if task is not None and self._tables.runs.get(run.key) is not before:
            self._ledger.writes[task.host.name].append(f"run {run.key}")
        return outcome

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        for beat in beats:
            if beat.progress is not None:
                # As the client of the table does: nothing of the batch is sent.
                beat.progress.encode()
        answers = super().heartbeat(beats)
        return [HeartbeatAnswer.FAILED if self._is_unanswered() else answer for answer in answers]

    def erase(self, job_key: str, *, limit: int) -> Erased:
        before = set(self._tables.runs_of_job.get(job_key, ()))
        erased = super().erase(job_key, limit=limit)
        self._ledger.erased(before - self._tables.runs_of_job.get(job_key, set()))
        return erased

    def request_cancel(
        self, key: RunKey, *, at: Instant, expires_at: Instant, receipt: Receipt | None = None
    ) -> Run | None:
        run = super().request_cancel(key, at=at, expires_at=expires_at, receipt=receipt)
        if run is not None and run.status is RunStatus.CANCELLED and run.cancel_requested_at is not None:
            self._ledger.cancelled.add(key)
        if run is not None and run.cancel_requested_at is not None and run.status is RunStatus.RUNNING:
            self._ledger.asked_to_end.add(key)
        return run


class RecordedFleetStore(MemoryFleetStore):
    def __init__(self, tables: MemoryTables, ledger: Ledger, hosts: dict[str, Host]) -> None:
        super().__init__(tables)
        self._ledger = ledger
        self._hosts = hosts
        #: How many shards a node took since it last read the fleet, though their owners were well.
        self._stolen: Counter[str] = Counter()

    def snapshot(self) -> FleetSnapshot:
        for name in self._ledger.acting():
            self._stolen[name] = 0
        return super().snapshot()

    def beat(self, node: Node) -> BeatAnswer:
        if self._ledger.silence_ms(node.node_id) >= WELL_SILENT_MS:
            # Seen as dead a moment ago, and rightly so.
            self._hosts[node.node_id].troubled_at = self._ledger.now()
        self._ledger.beats[node.node_id] = self._ledger.now()
        return super().beat(node)

    def take(self, seen: Lease, *, owner: str) -> Lease | None:
        before = self._lease(seen.shard)
        lease = super().take(seen, owner=owner)
        after = self._lease(seen.shard)
        if after.watermark < before.watermark:
            self._ledger.violate("I5", f"shard {seen.shard}: a take lowers W to {after.watermark}")
        if after != before and after.epoch <= before.epoch:
            self._ledger.violate("I5", f"shard {seen.shard} changes owner and keeps epoch {before.epoch}")
        if after != before and before.owner is not None and before.owner != owner:
            self._check_robbed(before.owner, owner)
        return lease

    def _check_robbed(self, owner: str, taker: str) -> None:
        """For balance a node takes one shard at a time; several at once means that it thinks the owner dead."""
        are_well = all(self._hosts[name].is_well(since_ms=WELL_MS) for name in (owner, taker))
        self._stolen[taker] += are_well and self._ledger.silence_ms(owner) < WELL_SILENT_MS
        if self._stolen[taker] > 1 and self._ledger.judges_health:
            self._ledger.violate("I6", f"{taker} takes shards of {owner}, who is well, as if it were dead")

    def checkpoint(self, lease: Lease) -> bool:
        before = self._lease(lease.shard)
        is_held = super().checkpoint(lease)
        after = self._lease(lease.shard)
        if after.watermark < before.watermark:
            self._ledger.violate("I5", f"shard {lease.shard}: W falls to {after.watermark}")
        if after.watermark != before.watermark:
            if (before.owner, before.epoch) != (lease.owner, lease.epoch):
                self._ledger.violate("I5", f"shard {lease.shard}: {lease.owner} writes W in epoch {before.epoch}")
            for entry in self._tables.entries.get(lease.shard, {}).values():
                if not entry.fresh:
                    self._ledger.check_settled(entry, max(after.watermark + 1, entry.next_at), "W")
        return is_held
