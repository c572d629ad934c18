"""What the API works with; `wiring` builds it from the environment, a test from memory."""

from __future__ import annotations

from dataclasses import dataclass

from shared.ports import AccessStore, Clock, JobStore, Randomness, RunStore


@dataclass(frozen=True, slots=True)
class Backend:
    jobs: JobStore
    runs: RunStore
    access: AccessStore
    clock: Clock
    randomness: Randomness
    shard_count: int
    #: Of this deployment, for `/v1/health`.
    version: str
