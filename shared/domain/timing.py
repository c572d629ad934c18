"""The constants of the protocol that hold each other up, in milliseconds; `check` proves it at every start."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shared.domain.instants import HOUR, MINUTE, SECOND

#: An `at` this far in the past is still accepted at create.
ACCEPTED_PAST_MS = 60 * SECOND
#: The longest an API call may live: what it wrote becomes visible no later than this after it read the clock.
API_TIMEOUT_MS = 30 * SECOND
#: Largest error of any host's wall clock that the protocol survives.
CLOCK_BOUND_MS = 45 * SECOND
#: A retry wait up to this keeps its message; a longer one becomes a single-fire entry.
LONGEST_KEPT_WAIT_MS = 60 * SECOND
#: A run may be alive without being listed among such runs when its slot is this recent (`Run.is_late_at`).
ALIVE_READ_BACK_MS = 15 * MINUTE


@dataclass(frozen=True, slots=True)
class Timing:
    """What a scheduler node lives by. Defaults are those of the design."""

    #: Dispatch happens this long before fire_at; the worker holds the start.
    lead_ms: int = 300
    #: Between two beats, plans and sweeps.
    beat_ms: int = 1 * SECOND
    plan_ms: int = 1 * SECOND
    sweep_ms: int = 1 * SECOND
    #: A node trusts its leases this long after the start of its last successful beat (monotonic).
    trust_ms: int = 3 * SECOND
    #: A node whose beat has not changed for this long (observer's monotonic clock) is dead.
    dead_ms: int = 4 * SECOND
    load_ms: int = 5 * MINUTE
    #: How far ahead of now a load reads.
    horizon_ms: int = 10 * MINUTE
    #: How far back of its last complete sweep a sweep looks.
    margin_ms: int = 240 * SECOND
    #: How far ahead of now a sweep looks.
    sweep_ahead_ms: int = 2 * SECOND
    #: A recurring entry stays in memory while its next slot is within this.
    residency_ms: int = 6 * HOUR
    #: ... and within this when memory runs short.
    shortest_residency_ms: int = 3 * MINUTE
    checkpoint_ms: int = 2 * SECOND
    #: A host whose clock differs by more than this from the store's takes nothing.
    clock_guard_ms: int = 5 * SECOND

    def sweeping_every(self, sweep_ms: int) -> Timing:
        """Rarer sweeps look further ahead; a job created for now then waits for the next one."""
        ahead_ms = sweep_ms + self.sweep_ahead_ms - self.sweep_ms
        return replace(self, sweep_ms=sweep_ms, sweep_ahead_ms=ahead_ms)

    def check(self) -> None:
        """Raises ValueError when one constant no longer carries another; the sentence names both."""
        slowest_write = ACCEPTED_PAST_MS + API_TIMEOUT_MS + 2 * CLOCK_BOUND_MS + self.sweep_ms
        rules = {
            f"margin ({self.margin_ms}) must exceed accepted past + API time-out + twice the clock bound + sweep "
            f"interval ({slowest_write}), or a sweep can miss a slow write": self.margin_ms > slowest_write,
            f"trust ({self.trust_ms}) must be shorter than dead ({self.dead_ms}), or two nodes fire one shard": (
                self.trust_ms < self.dead_ms
            ),
            f"trust ({self.trust_ms}) must exceed two beats ({2 * self.beat_ms}), or one slow beat stops a node": (
                self.trust_ms > 2 * self.beat_ms
            ),
            f"horizon ({self.horizon_ms}) must exceed load interval ({self.load_ms}) + sweep ahead, or an entry is "
            "read after its time": self.horizon_ms > self.load_ms + self.sweep_ahead_ms,
            f"sweep ahead ({self.sweep_ahead_ms}) must exceed sweep ({self.sweep_ms}) + lead ({self.lead_ms})": (
                self.sweep_ahead_ms > self.sweep_ms + self.lead_ms
            ),
            f"residency ({self.residency_ms}) must be at least the horizon ({self.horizon_ms})": (
                self.residency_ms >= self.horizon_ms
            ),
            f"shortest residency ({self.shortest_residency_ms}) must be twice sweep ahead ({self.sweep_ahead_ms}), or "
            "an entry that left memory fires before a sweep finds it": (
                2 * self.sweep_ahead_ms <= self.shortest_residency_ms <= self.residency_ms
            ),
        }
        broken = [sentence for sentence, holds in rules.items() if not holds]
        if broken:
            raise ValueError("; ".join(broken))
