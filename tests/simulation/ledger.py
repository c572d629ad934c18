"""What really happened, written down where the stores change, and checked against the invariants as it happens.

Nobody in the simulated world reads this. Slots are worked out here from the generations of each job, not from entries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import RunKey
from shared.domain.message import Dispatch
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import fire_at
from shared.domain.timing import CLOCK_BOUND_MS
from tests.simulation.executions import Executions
from tests.simulation.generations import Fire, Generation

#: A claim that two clocks, each compared by the bound of two, may take for one of before the change of a job.
_MAY_HAVE_BEGUN_MS = 4 * CLOCK_BOUND_MS
_OF_SCHEDULE = frozenset({RunKind.SCHEDULED, RunKind.CATCH_UP})


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold, when (true time), and what happened."""

    invariant: str
    at: int
    detail: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Start:
    at: int
    host: str
    key: RunKey
    slot: Instant
    token: int


def _is_over(row: Run) -> bool:
    """What has ended, was cancelled by somebody, or found no place, a newer generation does not fire."""
    return row.status.is_final or row.cancel_requested_at is not None or row.reason == "overlap"


#: No schedule made these.
_ASKED_FOR = frozenset({RunKind.MANUAL, RunKind.BACKFILL})


class Ledger:
    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.violations: list[Violation] = []
        self.generations: dict[str, list[Generation]] = defaultdict(list)
        #: By run: the newest generation of which the queue holds, or held, a message; and when it came.
        self.accepted: dict[RunKey, int] = {}
        self.accepted_at: dict[RunKey, int] = {}
        #: When it was to start as it was first dispatched.
        self.due_of: dict[RunKey, Instant] = {}
        #: By job and the first generation that counts: slots that were begun.
        self.counted: dict[tuple[str, int], set[Instant]] = defaultdict(set)
        self.sent: list[tuple[int, Dispatch]] = []
        #: Of single fires: the attempts that the queue took, or refused for good.
        self.attempted: set[tuple[RunKey, int]] = set()
        #: As `accepted`: what the queue will never take.
        self.refused: dict[RunKey, int] = {}
        self.purged_runs: set[RunKey] = set()
        self.rows: dict[RunKey, Run] = {}
        self.gaps: dict[str, list[Run]] = defaultdict(list)
        #: True time of each claim, by run and token; and of each read of a job, by worker and job.
        self.claims: dict[tuple[RunKey, int], int] = {}
        #: Of each run its first claim.
        self.first_claims: dict[RunKey, tuple[int, int]] = {}
        self.reads: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.ends: dict[RunKey, set[int]] = defaultdict(set)
        #: Runs of which the API said that they are cancelled: none of them was running.
        self.cancelled: set[RunKey] = set()
        #: Runs that somebody asked to run again: no pause forbids it.
        self.run_again: set[RunKey] = set()
        #: Runs whose end was asked for while they ran.
        self.asked_to_end: set[RunKey] = set()
        self.starts: list[Start] = []
        #: Who acts now: at most one host.
        self.acting: Callable[[], list[str]] = list
        #: Calls go wrong so rarely that whoever is well is seen to live.
        self.judges_health = False
        #: When the table could not be reached, true time.
        self.outages: list[tuple[int, int]] = []
        #: How early a worker may claim.
        self.hold_ms = 0
        #: What each host wrote for its caller.
        self.writes: dict[str, list[str]] = defaultdict(list)
        self.executions = Executions(now, self.violate, self.rows)
        self._last_token: dict[RunKey, int] = {}
        self._highest: dict[RunKey, int] = {}
        self.beats: dict[str, int] = {}

    def silence_ms(self, node: str) -> int:
        """Since its last beat, but for the time in which the table could not be reached by anybody."""
        now, beat = self.now(), self.beats.get(node, 0)
        out_ms = sum(max(min(end, now) - max(start, beat), 0) for start, end in self.outages)
        return now - beat - out_ms

    def violate(self, invariant: str, detail: str) -> None:
        self.violations.append(Violation(invariant, self.now(), detail))

    def erased(self, keys: Collection[RunKey]) -> None:
        """The API was asked to forget them. What was sent may be sent again: the audit misses its row."""
        for key in keys:
            for kept in (self.rows, self.accepted, self.ends, self._last_token, self._highest):
                kept.pop(key, None)
        self.asked_to_end.difference_update(keys)
        self.cancelled.difference_update(keys)
        self.purged_runs.update(keys)
        self.executions.erased(keys)

    def expired(self, key: RunKey) -> None:
        """Its message was as old as the queue keeps any. A run that waits for it waits for ever."""
        row = self.rows.get(key)
        if row is None or row.status is not RunStatus.WAITING:
            self.purged_runs.add(key)

    # Jobs ------------------------------------------------------------------------------------------------------------

    def job_written(self, job: Job) -> None:
        known = self.generations[job.job_key]
        if known and known[-1].job.generation == job.generation:
            known[-1].job = job
            return
        if known:
            known[-1].ended_at = self.now()
            if job.generation < known[-1].job.generation:
                self.violate("generation", f"{job.job_key} went from {known[-1].job.generation} to {job.generation}")
        known.append(Generation(job, self.now(), job.updated_at))

    def completed(self, job: Job) -> None:
        """Where runs exclude each other, the last slot may be left out for one that goes on: then that ends the job."""
        if job.overlap == "allow":
            return
        lives = [each.job.generation for each in self.generations[job.job_key] if each.job.created_at == job.created_at]
        of_job = [run for run in self.rows.values() if run.job_key == job.job_key and run.generation >= min(lives)]
        rows = [run for run in of_job if run.kind in _OF_SCHEDULE]
        last = max(rows, key=lambda run: run.slot, default=None)
        is_left_out = last is not None and last.status is RunStatus.SKIPPED and last.reason == "overlap"
        going_on = [run.key for run in rows if run.status.is_alive]
        if self.executions.is_strict and is_left_out and going_on:
            self.violate("completion", f"{job.job_key} is completed, though {going_on} go on")

    def generation_of(self, job_key: str, generation: int) -> Generation | None:
        return next((each for each in self.generations[job_key] if each.job.generation == generation), None)

    # Slots -----------------------------------------------------------------------------------------------------------

    def accepted_by_queue(self, dispatch: Dispatch) -> None:
        key = dispatch.key
        self.accepted[key] = max(dispatch.generation, self.accepted.get(key, 0))
        self.accepted_at.setdefault(key, self.now())
        self.due_of.setdefault(key, dispatch.fire_at)
        self.attempted.add((key, dispatch.attempt))
        self.sent.append((self.now(), dispatch))

    def refused_by_queue(self, dispatch: Dispatch) -> None:
        key = dispatch.key
        self.refused[key] = max(dispatch.generation, self.refused.get(key, 0))
        self.attempted.add((key, dispatch.attempt))

    def is_recorded(self, fire: Fire, generation: int) -> bool:
        """A run row, or a gap, stands for this slot as this generation planned it."""
        row = self.rows.get(fire.key)
        if row is not None and (_is_over(row) or row.generation >= generation):
            return True
        # The row that says so is put only where none is; one of an older generation stays.
        if row is not None and self.refused.get(fire.key, 0) >= generation:
            return True
        gaps = self.gaps[fire.key.job_key]
        return any(gap.gap is not None and gap.gap.first <= fire.slot <= gap.gap.last for gap in gaps)

    def is_recorded_of(self, fire: Fire, numbers: Collection[int], *, of_job: int) -> bool:
        """A run row, or a gap, of one of these generations, or of a later one, stands for this slot; or it had ended
        under an earlier one of this very job, which begins with the generation `of_job`.
        """
        row, first = self.rows.get(fire.key), min(numbers)
        if row is not None and row.generation >= of_job and _is_over(row):
            return True
        if row is not None and (row.generation >= first or self.refused.get(fire.key, 0) >= first):
            return True
        for run in self.gaps[fire.key.job_key]:
            # A pause of this job took it for good, whatever pauses come after.
            is_of = run.generation in numbers or (run.reason == "paused" and run.generation >= of_job)
            if is_of and run.gap is not None and run.gap.first <= fire.slot <= run.gap.last:
                return True
        return False

    def is_settled(self, fire: Fire, generation: int) -> bool:
        """It is in the queue, or recorded."""
        return self.accepted.get(fire.key, 0) >= generation or self.is_recorded(fire, generation)

    def check_settled(self, entry: Entry, before: int, why: str) -> None:
        """I5: whoever takes over now starts `entry` at `before`, so every earlier fire must be settled."""
        generation = self.generation_of(entry.job_key, entry.generation)
        if generation is None or entry.is_single or entry.is_tombstone:
            return
        while (fire := generation.fire(generation.settled)) is not None and fire.due < before:
            if not self.is_settled(fire, entry.generation):
                self.violate("I5", f"{why} passes {entry.entry_id} slot {fire.slot} (fires {fire.due}) unsettled")
            generation.settled += 1

    # Runs ------------------------------------------------------------------------------------------------------------

    def row_written(self, old: Run | None, run: Run) -> None:
        if run.gap is not None:
            self.gaps[run.job_key].append(run)
            if run.reason == "misfire":
                self._check_gap(run, run.gap.last)
            return
        self.rows[run.key] = run
        if run.key in self.asked_to_end and run.cancel_requested_at is None and run.status is RunStatus.RUNNING:
            self.violate("I4", f"{run.key} has forgotten that its end was asked for")
        if run.status is RunStatus.WAITING and old is not None and old.token != run.token:
            self._run_again(old)
            return
        if run.status is RunStatus.RUNNING and (old is None or old.token != run.token):
            self.claims[run.key, run.token] = self.now()
            self.first_claims.setdefault(run.key, (run.token, self.now()))
            self._check_token(run)
        if run.status.is_final and (old is None or not old.status.is_final) and run.token:
            self._check_end(run)
        if old is not None and old.status.is_final and run.token != old.token:
            self.violate("I2", f"{run.key} ended with token {old.token} and is claimed again with {run.token}")

    def _check_gap(self, run: Run, last: Instant) -> None:
        """Nothing is missed before its time."""
        generation = self.generation_of(run.job_key, run.generation)
        if generation is not None and fire_at(generation.job.schedule, run.job_key, last) > self.now():
            self.violate("skipped", f"{run.job_key} slot {last} was not due yet when its row was written")

    def _run_again(self, old: Run) -> None:
        """The API asked for it, and whatever the run was before is over."""
        if old.status in {RunStatus.SUCCEEDED, RunStatus.RUNNING}:
            self.violate("I2", f"{old.key} is {old.status} with token {old.token} and is to run again")
        self.run_again.add(old.key)
        self.ends.pop(old.key, None)
        self.cancelled.discard(old.key)
        self.asked_to_end.discard(old.key)

    def _check_end(self, run: Run) -> None:
        self.ends[run.key].add(run.token)
        if len(self.ends[run.key]) > 1:
            self.violate("I2", f"{run.key} ended by tokens {sorted(self.ends[run.key])}")
        if run.cancel_requested_at is not None:
            self.violate("I4", f"{run.key} ended {run.status}, though its end was asked for before")

    def _check_token(self, run: Run) -> None:
        if run.claimed_at is not None and run.fire_at - run.claimed_at > self.hold_ms:
            self.violate(
                "early", f"{run.worker_id} claims {run.key} {run.fire_at - run.claimed_at} ms early, and holds it"
            )
        if run.token <= self._highest.get(run.key, 0):
            self.violate("I7", f"{run.key} is claimed with token {run.token} after {self._highest[run.key]}")
        self._highest[run.key] = max(run.token, self._highest.get(run.key, 0))

    def started(self, host: str, key: RunKey, slot: Instant, token: int, *, worker_now: Instant, due: Instant) -> None:
        if worker_now < due:
            self.violate("I3", f"{host} started {key} {due - worker_now} ms early")
        if token <= self._last_token.get(key, 0):
            self.violate("I7", f"{host} started {key} with token {token} after token {self._last_token[key]}")
        self._last_token[key] = token
        self.starts.append(Start(self.now(), host, key, slot, token))
        self._check_start(self.starts[-1])

    def _check_start(self, start: Start) -> None:
        """I4: what the API answered holds."""
        if start.key in self.cancelled:
            self.violate("I4", f"{start.host} started {start.key}, which the API had cancelled")
        holding = self.generations[start.key.job_key][-1]
        if holding.answered_at is None or holding.job.state not in {JobState.PAUSED, JobState.CANCELLED}:
            return
        if holding.job.state is JobState.CANCELLED:
            if start.key.run_id not in holding.named | holding.unnamed:
                self.violate("I4", f"{start.host} started {start.key} after the DELETE that did not name it")
            return
        first_token, first_at = self.first_claims.get(start.key, (start.token, start.at))
        if first_token < start.token and first_at <= holding.committed_at + _MAY_HAVE_BEGUN_MS:
            # An earlier attempt of it may have begun before the pause, as far as any host can know.
            return
        run = self.rows.get(start.key)
        if run is not None and (run.kind in _ASKED_FOR or run.generation >= holding.job.generation):
            # A pause stops the schedule, and not a person.
            return
        claimed_at = self.claims.get((start.key, start.token), start.at)
        read_at = next((at for at in self.reads[start.host, start.key.job_key] if at >= claimed_at), start.at)
        if read_at > holding.committed_at:
            self.violate("I4", f"{start.host} started {start.key}, claimed and read after the pause was answered")

    def answered(self, job: Job, named: frozenset[str], *, more: int = 0) -> None:
        """The API told its caller what it wrote, and which runs may still start: those named, and `more` of them."""
        generation = self.generation_of(job.job_key, job.generation)
        if generation is None:
            self.violate("I4", f"{job.job_key}: an answer about generation {job.generation}, which was never written")
        elif generation.answered_at is None:
            generation.answered_at, generation.named = self.now(), named
            rows = [row for row in self.rows.values() if row.job_key == job.job_key and row.status.is_alive]
            generation.unnamed = frozenset(row.run_id for row in rows) if more else frozenset()
        elif generation.named != named and generation.ended_at is None:
            # Of a job created anew meanwhile, a late DELETE may name runs of its successor: they start rightly.
            self.violate("I4", f"{job.job_key}: a second DELETE names {sorted(named)}, not {sorted(generation.named)}")
