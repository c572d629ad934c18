"""What the API works with; `wiring` builds it from the environment, a test from memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from functions.api.settings import ApiSettings
from shared.domain.access import Receipt
from shared.domain.addresses import HostPort
from shared.domain.entry import single_entry
from shared.domain.grants import GrantRules
from shared.domain.run import CLAIM_ID_BYTES, Run
from shared.domain.sharding import shard_of
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import AccessStore, Clock, EntryStore, FleetStore, JobStore, Randomness, RunStore
from shared.ports.run_store import PlanOutcome


@dataclass(frozen=True, slots=True)
class Backend:
    jobs: JobStore
    runs: RunStore
    entries: EntryStore
    fleet: FleetStore
    access: AccessStore
    clock: Clock
    randomness: Randomness
    shard_count: int
    #: Of this deployment, for `/v1/health`.
    version: str
    #: Lifecycle events, published at the end of each call.
    announcements: Announcements = field(default_factory=lambda: Announcements(None))
    metrics: MetricLog = field(default_factory=lambda: MetricLog("Carillon/unnamed", {"service": "api"}))
    settings: ApiSettings = ApiSettings()
    grant_rules: GrantRules = GrantRules()
    #: Where this deployment is: the Region of a target that names none.
    region: str = "us-east-1"
    #: What targets of type http may reach although it is no public address.
    internal_targets: frozenset[HostPort] = frozenset()

    def new_claim_id(self) -> str:
        return self.randomness.random_bytes(CLAIM_ID_BYTES).hex()

    def plan(self, run: Run, *, lane: str, seen: Run | None = None, receipt: Receipt | None = None) -> PlanOutcome:
        """Have the run started through this lane, in place of what was `seen` of it: see `RunStore.plan`."""
        entry = single_entry(run, shard=shard_of(run.job_key, self.shard_count), lane=lane)
        return self.runs.plan(run, entry, seen=seen, receipt=receipt)
