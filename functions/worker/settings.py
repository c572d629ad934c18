"""What a worker lives by; read from the environment once, in `wiring`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.config import LONGEST_LEAD_VARIABLE, WEBHOOKS_VARIABLE, owner_maximums
from shared.domain.instants import DAY, MINUTE, SECOND
from shared.domain.owner_places import OwnerMaximums
from shared.domain.timing import CLOCK_BOUND_MS, Timing
from shared.schema import DEAD_LETTER_RETENTION_DAYS, LANE_RETENTION_DAYS

#: Each is a row that was read, some kilobytes.
_MOST_HELD = 5_000


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    #: A run whose worker is silent for this long is looked at; who sees its row stand still for as long again takes it
    #: over, and anybody else once the lease is over by the clock bound.
    lease_ms: int = 20 * SECOND
    #: How long before fire_at a message is dispatched.
    lead_ms: int = Timing().lead_ms
    #: What the lead may grow to before a herd, where this worker can hold it: the default is not at all.
    longest_lead_ms: int = Timing().lead_ms
    #: A message may be hidden for whole seconds only: one that is early by less than that on top of the lead is held.
    hold_slack_ms: int = SECOND
    #: Between the clocks of two hosts: one may be behind by the bound while the other is ahead by it.
    clock_bound_ms: int = 2 * CLOCK_BOUND_MS
    #: How long a run's row stays after its end.
    run_retention_ms: int = 30 * DAY
    #: A message of a later version waits this long for a worker that can read it, each time that one met it who cannot;
    #: after so many it is a dead letter. A deployment of workers takes some minutes.
    unreadable_hidden_ms: int = MINUTE
    unreadable_looks: int = 10
    #: Of the jobs of the runs that a lane holds, in bytes: while they take as much, no message is taken. A batch of
    #: jobs comes on top, which are read before they can be weighed.
    most_weight: int = 64 * 1024 * 1024
    #: Handlers at once, per lane.
    threads: int = 16
    #: Webhooks whose answers are waited for at once, per lane.
    webhooks: int = 500
    #: How long a run is kept in hand that waits for others of its receiver; then it waits as one that found no place.
    patience_ms: int = 5 * SECOND
    #: How many runs of an owner may go on at once, on all workers of a deployment together.
    owner_maximums: OwnerMaximums = OwnerMaximums()

    @property
    def lease_seconds(self) -> float:
        return self.lease_ms / SECOND

    @property
    def visibility_seconds(self) -> int:
        """As long as the lease, rounded up: a message must not come back while its run is known to live."""
        return -(-self.lease_ms // SECOND)

    @property
    def beats_after_ms(self) -> int:
        """When a claimed run's first heartbeat is due."""
        return self.lease_ms // 3

    @property
    def early_ms(self) -> int:
        """A run is claimed this long before its start at most, and held for the rest."""
        return self.lead_ms + self.hold_slack_ms

    @property
    def max_held(self) -> int:
        """Claimed runs that have not started; enough to cover the lead at some hundred runs a second."""
        return 8 * self.threads

    def may_hold(self, usual_ms: float) -> int:
        """More of those whose targets are quick: as many as start within a second, when all are due at one instant."""
        return max(self.max_held, min(_MOST_HELD, int(self.threads * SECOND / usual_ms)))

    def may_hold_for_receivers(self, usual_ms: float) -> int:
        """The same of webhooks: there is a place for each in any case."""
        return max(self.webhooks, min(_MOST_HELD, int(self.webhooks * SECOND / usual_ms)))

    @property
    def most_in_line(self) -> int:
        """Of those that are in hand, so that others can be, too."""
        return _MOST_HELD // 2

    def check(self) -> None:
        """Raises ValueError when one setting no longer carries another; the sentence names both."""
        longest_queued_ms = max(LANE_RETENTION_DAYS, DEAD_LETTER_RETENTION_DAYS) * DAY
        if self.run_retention_ms < longest_queued_ms + DAY:
            raise ValueError(
                f"run retention ({self.run_retention_ms} ms) must exceed the retention of the queues"
                f" ({longest_queued_ms} ms) by a day, or a late duplicate of a message would run again"
            )
        if self.longest_lead_ms < self.lead_ms:
            raise ValueError(f"longest lead ({self.longest_lead_ms} ms) must not be below the lead ({self.lead_ms} ms)")
        longest_hold_ms = self.longest_lead_ms + self.hold_slack_ms
        if self.lease_ms < 3 * longest_hold_ms:
            raise ValueError(
                f"lease ({self.lease_ms} ms) must be at least three holds of {longest_hold_ms} ms, or held runs lose it"
            )
        if self.threads < 1:
            raise ValueError(f"a worker needs at least one thread, not {self.threads}")
        if self.webhooks < 1:
            raise ValueError(f"a worker needs a place for at least one webhook, not {self.webhooks}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> WorkerSettings:
        """Raises ValueError."""
        default = cls()
        settings = cls(
            lease_ms=int(environment.get("CARILLON_WORKER_LEASE_SECONDS", default.lease_ms // SECOND)) * SECOND,
            longest_lead_ms=int(environment.get(LONGEST_LEAD_VARIABLE, default.lead_ms)),
            clock_bound_ms=int(environment.get("CARILLON_CLOCK_BOUND_MS", default.clock_bound_ms)),
            run_retention_ms=int(environment.get("CARILLON_RUN_RETENTION_DAYS", default.run_retention_ms // DAY)) * DAY,
            webhooks=int(environment.get(WEBHOOKS_VARIABLE, default.webhooks)),
            owner_maximums=OwnerMaximums(owner_maximums(environment)),
        )
        settings.check()
        return settings
