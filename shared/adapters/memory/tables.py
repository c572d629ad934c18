from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock

from shared.domain.access import ApiKey, Receipt
from shared.domain.entry import Entry
from shared.domain.fleet import Lease, Node
from shared.domain.grants import Grant
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.keys import RunKey
from shared.domain.overlap import Holder, Place
from shared.domain.run import Run
from shared.domain.signing import SigningKey
from shared.ports.clock import Clock


@dataclass(slots=True)
class MemoryTables:
    """What all tables hold; the stores are views of it. `lock` makes each call of a port one step.

    `clock` is the store's own: without one it tells no time, and no receipt expires.
    """

    clock: Clock | None = None
    lock: RLock = field(default_factory=RLock, repr=False)
    jobs: dict[str, Job] = field(default_factory=dict)
    #: By job_key and place, then by run_id: a part of the job's row, which nobody outlives (`holders_of`).
    holders: dict[tuple[str, Place], dict[str, Holder]] = field(default_factory=dict)
    #: By shard, then by entry_id.
    entries: dict[int, dict[str, Entry]] = field(default_factory=dict)
    runs: dict[RunKey, Run] = field(default_factory=dict)
    #: Those that may be alive though their slot is long past: by job_key, the lease of each.
    alive: dict[str, dict[RunKey, Instant]] = field(default_factory=dict)
    #: The runs of each job, for the reads by job.
    runs_of_job: dict[str, set[RunKey]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    leases: dict[int, Lease] = field(default_factory=dict)
    is_firing: bool = True
    shard_count: int | None = None
    keys: dict[str, ApiKey] = field(default_factory=dict)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    #: Requests taken, by owner and window.
    request_leases: dict[tuple[str, Instant], int] = field(default_factory=dict)
    #: Until when starts are booked, by owner.
    booked_until: dict[str, Instant] = field(default_factory=dict)
    grants: dict[str, tuple[Grant, ...]] = field(default_factory=dict)
    signing_keys: dict[str, tuple[SigningKey, ...]] = field(default_factory=dict)

    def holders_of(self, job_key: str, place: Place) -> dict[str, Holder]:
        """A row of places alone is made by the first who takes one; those of a job go with its row."""
        if place is not Place.OWNER and job_key not in self.jobs:
            self.remove_holders(job_key)
            return {}
        return self.holders.setdefault((job_key, place), {})

    def remove_holders(self, job_key: str) -> None:
        for place in Place:
            self.holders.pop((job_key, place), None)

    def remove_run(self, key: RunKey) -> None:
        del self.runs[key]
        self.runs_of_job[key.job_key].discard(key)
        self.alive.get(key.job_key, {}).pop(key, None)

    def put_run(self, run: Run, alive_at: Instant | None) -> None:
        """Store the row and keep the indexes in step."""
        self.runs[run.key] = run
        self.runs_of_job.setdefault(run.job_key, set()).add(run.key)
        of_job = self.alive.setdefault(run.job_key, {})
        if alive_at is None:
            of_job.pop(run.key, None)
        else:
            of_job[run.key] = alive_at

    def put_entry(self, entry: Entry) -> None:
        self.entries.setdefault(entry.shard, {})[entry.entry_id] = entry

    def put_receipt(self, receipt: Receipt) -> None:
        self.receipts[receipt.owner_id, receipt.idempotency_key] = receipt

    def receipt_in_the_way(self, receipt: Receipt | None) -> Receipt | None:
        """What is stored under the key of this receipt and still counts."""
        if receipt is None:
            return None
        stored = self.receipts.get((receipt.owner_id, receipt.idempotency_key))
        return stored if stored is not None and stored.expires_at > receipt.at else None
