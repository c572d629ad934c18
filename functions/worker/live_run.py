"""A claimed run, from its claim until its finish is stored."""

from __future__ import annotations

import json
from threading import Event, Lock

from functions.worker.cuts import first_bytes
from functions.worker.targets import Call
from functions.worker.weighing import bytes_of
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.keys import owner_of
from shared.domain.limits import MAX_PROGRESS_BYTES
from shared.domain.message import Dispatch
from shared.domain.run import Finish, Run
from shared.domain.targets.urls import host_of
from shared.ports import Delivery, Hold

#: An owner, and the host that its webhooks call.
Receiver = tuple[str, str]


class LiveRun:
    """What is known at the claim never changes. The rest is read freely by any thread, and is changed only by the
    methods below: each checks and changes under the run's own lock. So a run that has started is never handed back, and
    one that was handed back never starts. Moments named `..._until` are monotonic seconds.
    """

    __slots__ = (
        "_finish",
        "_hold",
        "_job",
        "_lock",
        "_owner_hold",
        "_progress",
        "_read_at",
        "_receiver",
        "_renew_until",
        "_started_at",
        "_timeout_ms",
        "_trusted_until",
        "_weight",
        "cancelled",
        "delivery",
        "dispatch",
        "is_listed",
        "run",
    )

    def __init__(
        self,
        run: Run,
        delivery: Delivery,
        dispatch: Dispatch,
        *,
        trusted_until: float,
        renew_until: float,
        is_listed: bool = False,
    ) -> None:
        self.run = run
        self.delivery = delivery
        self.dispatch = dispatch
        self.cancelled = Event()
        #: It stands among the runs that may be alive though their slot is long past, or may. Of its heartbeats alone.
        self.is_listed = is_listed
        self._lock = Lock()
        self._trusted_until = trusted_until
        self._renew_until = renew_until
        self._job: Job | None = None
        self._read_at: float | None = None
        self._weight = 0
        self._receiver: Receiver | None = None
        self._started_at: Instant | None = None
        self._timeout_ms: int | None = None
        self._progress: str | None = None
        self._hold: Hold | None = None
        self._owner_hold: Hold | None = None
        self._finish: Finish | None = None

    @property
    def trusted_until(self) -> float:
        """The lease counts as ours until then: from before the write that gave it."""
        return self._trusted_until

    @property
    def renew_until(self) -> float:
        """The next heartbeat is due."""
        return self._renew_until

    @property
    def job(self) -> Job | None:
        """As it was read last before the start; None until it was read."""
        return self._job

    @property
    def weight(self) -> int:
        """What its job takes in memory, in bytes."""
        return self._weight

    @property
    def receiver(self) -> Receiver | None:
        """Whom it calls, where nobody waits for the answer: that of a webhook."""
        return self._receiver

    @property
    def started_at(self) -> Instant | None:
        return self._started_at

    @property
    def revision(self) -> int | None:
        """Of the definition that it started with."""
        return None if self._started_at is None or self._job is None else self._job.revision

    @property
    def timeout_ms(self) -> int | None:
        """From the start to the deadline."""
        return self._timeout_ms

    @property
    def progress(self) -> str | None:
        return self._progress

    @property
    def hold(self) -> Hold | None:
        """Its place, where its job counts them."""
        return self._hold

    @property
    def owner_hold(self) -> Hold | None:
        """Its place within the owner's limit, where the owner has one."""
        return self._owner_hold

    @property
    def holds(self) -> list[Hold]:
        return [hold for hold in (self._hold, self._owner_hold) if hold is not None]

    @property
    def finish(self) -> Finish | None:
        """Decided, and not yet stored."""
        return self._finish

    @property
    def may_start(self) -> bool:
        """It has neither started nor ended."""
        return self._started_at is None and self._finish is None

    def was_read_since(self, monotonic: float) -> bool:
        return self._read_at is not None and self._read_at >= monotonic

    def read(self, job: Job | None, *, at: float) -> bool:
        """The job as it was at the monotonic second `at`; False, and nothing changes, once the run has started."""
        with self._lock:
            if not self.may_start:
                return False
            self._job, self._read_at = job, at
            self._weight = 0 if job is None else bytes_of(job)
            self._receiver = None if job is None else _receiver_of(job)
            return True

    def start(self, *, at: Instant, timeout_ms: int) -> bool:
        """False once it has ended."""
        with self._lock:
            if not self.may_start:
                return False
            self._started_at, self._timeout_ms = at, timeout_ms
            return True

    def end(self, finish: Finish) -> bool:
        """Decide its end; False when it is decided already."""
        with self._lock:
            if self._finish is not None:
                return False
            self._finish = finish
            return True

    def replace_end(self, finish: Finish) -> None:
        """Of one whose end is decided, and could not be stored."""
        with self._lock:
            self._finish = finish

    def end_unstarted(self, finish: Finish) -> bool:
        """Decide its end, unless its target is being called; False when it is, or when the end is decided already."""
        with self._lock:
            if not self.may_start:
                return False
            self._finish = finish
            return True

    def renew(self, *, trusted_until: float, renew_until: float) -> None:
        with self._lock:
            self._trusted_until, self._renew_until = trusted_until, renew_until

    def renew_now(self, monotonic: float) -> None:
        """Its next heartbeat is due at once."""
        with self._lock:
            self._renew_until = monotonic

    def report(self, text: object) -> None:
        """What a handler says of its progress, whatever it is: the table takes short texts only."""
        progress = first_bytes(str(text), MAX_PROGRESS_BYTES)
        with self._lock:
            self._progress = progress

    def take_place(self, hold: Hold) -> None:
        with self._lock:
            self._hold = hold

    def take_owner_place(self, hold: Hold) -> None:
        with self._lock:
            self._owner_hold = hold

    def call(self) -> Call:
        """Of a run that has been read and started."""
        job, started_at, timeout_ms = self._job, self._started_at, self._timeout_ms
        assert job is not None
        assert started_at is not None
        assert timeout_ms is not None
        return Call(
            key=self.run.key,
            slot=self.run.slot,
            fire_at=self.run.fire_at,
            attempt=self.run.attempt,
            token=self.run.token,
            target=job.target,
            payload=job.payload if self.run.payload_json is None else json.loads(self.run.payload_json),
            timeout_ms=timeout_ms,
            deadline=Instant(started_at + timeout_ms),
            cancelled=self.cancelled,
            report=self.report,
            trace=self.dispatch.trace or self.run.trace,
            made_by=job.trace,
        )


def _receiver_of(job: Job) -> Receiver | None:
    if job.target.get("type") != "http":
        return None
    try:
        return owner_of(job.job_key), host_of(job.target["url"])
    except (AttributeError, KeyError, TypeError, ValueError):
        # Its target says what is wrong with it.
        return None
