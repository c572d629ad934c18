"""A claimed run, from its claim until its finish is stored."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from threading import Event

from functions.worker.cuts import first_bytes
from functions.worker.targets import Call
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.limits import MAX_PROGRESS_BYTES
from shared.domain.message import Dispatch
from shared.domain.run import Finish, Run
from shared.ports import Delivery, Hold


@dataclass(eq=False, slots=True)
class LiveRun:
    """Mutable, and guarded by the lock of `LiveRuns`. Moments named `..._until` are monotonic seconds."""

    run: Run
    delivery: Delivery
    dispatch: Dispatch
    #: The lease counts as ours until then: from before the write that gave it.
    trusted_until: float
    #: The next heartbeat is due.
    renew_until: float
    job: Job | None = None
    cancelled: Event = field(default_factory=Event)
    started_at: Instant | None = None
    #: From the start to the deadline.
    timeout_ms: int | None = None
    progress: str | None = None
    #: Its place, where its job counts them.
    hold: Hold | None = None
    #: And the one among its owner's, where the owner has a maximum.
    owner_hold: Hold | None = None
    #: Decided, and not yet stored.
    finish: Finish | None = None

    @property
    def holds(self) -> list[Hold]:
        return [hold for hold in (self.hold, self.owner_hold) if hold is not None]

    def report(self, text: object) -> None:
        """What a handler says of its progress, whatever it is: the table takes short texts only."""
        self.progress = first_bytes(str(text), MAX_PROGRESS_BYTES)

    def call(self) -> Call:
        """Of a run that has been read and started."""
        assert self.job is not None
        assert self.started_at is not None
        assert self.timeout_ms is not None
        return Call(
            key=self.run.key,
            slot=self.run.slot,
            fire_at=self.run.fire_at,
            attempt=self.run.attempt,
            token=self.run.token,
            target=self.job.target,
            payload=self.job.payload if self.run.payload_json is None else json.loads(self.run.payload_json),
            timeout_ms=self.timeout_ms,
            deadline=Instant(self.started_at + self.timeout_ms),
            cancelled=self.cancelled,
            report=self.report,
            trace=self.dispatch.trace or self.run.trace,
            made_by=self.job.trace,
        )
