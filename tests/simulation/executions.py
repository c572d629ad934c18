"""Runs that go on: which definition each started with, and beside which others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.domain.instants import SECOND, Instant
from shared.domain.keys import RunKey
from shared.domain.overlap import places_of
from shared.domain.run import Run, RunStatus
from tests.simulation.hosts import Host

if TYPE_CHECKING:
    from functions.worker.live_run import LiveRun

#: What is read waits no longer than this before it starts, or it is read again.
READ_AGAIN_MS = SECOND
#: A heartbeat later, a worker knows that it lost its place.
HEARD_MS = 15 * SECOND
#: In the ids of runs that somebody asked for now: they repeat no slot.
_IS_ASKED_FOR = "-m"
#: For the read itself.
READ_MS = 500


@dataclass(frozen=True, slots=True)
class Execution:
    at: int
    host: Host
    key: RunKey
    token: int
    revision: int
    generation: int
    #: It counts among those of its job.
    is_counted: bool
    #: How many of its job's may go on at once.
    limit: int | None

    @property
    def is_well(self) -> bool:
        """Its host goes on, and knows of its lease."""
        return self.host.is_alive and not self.host.is_paused and self.host.troubled_at < self.at


@dataclass(frozen=True, slots=True)
class Told:
    """A change of a job that its caller knows of."""

    at: int
    revision: int


@dataclass(slots=True)
class Executions:
    now: Callable[[], int]
    violate: Callable[[str, str], None]
    #: As stored.
    rows: dict[RunKey, Run]
    is_strict: bool = False
    #: Reads are judged by the second: in worlds whose calls are quick.
    is_prompt: bool = False
    #: All jobs of a world are of one owner.
    owner_maximum: int | None = None
    #: Of each job, the changes that were answered.
    told: dict[str, list[Told]] = field(default_factory=lambda: defaultdict(list))
    #: Whose targets are at work.
    _going_on: dict[tuple[RunKey, int], Execution] = field(default_factory=dict)
    #: Whose targets were called.
    begun: dict[tuple[RunKey, int], Execution] = field(default_factory=dict)
    #: By job and slot: each run whose target said that it succeeded, while its claim was valid.
    _succeeded: dict[tuple[str, Instant], set[RunKey]] = field(default_factory=lambda: defaultdict(set))

    def answered(self, job_key: str, revision: int) -> None:
        """The caller of the API knows of it."""
        self.told[job_key].append(Told(self.now(), revision))

    def begins(self, host: Host, live: LiveRun) -> None:
        job = live.job
        assert job is not None
        run = live.run
        limit = places_of(job)
        begun = Execution(
            self.now(),
            host,
            run.key,
            run.token,
            job.revision,
            run.generation,
            is_counted=live.hold is not None,
            limit=limit,
        )
        if self.is_prompt:
            self._check_definition(begun)
        if limit is not None:
            self._check_room([each for each in self._others(begun) if each.is_counted], limit, begun, "its job's")
        if self.owner_maximum is not None:
            others = [each for each in self._valid() if each.key != begun.key]
            self._check_room(others, self.owner_maximum, begun, "its owner's")
        self._going_on[run.key, run.token] = begun
        self.begun[run.key, run.token] = begun

    def ends(self, key: RunKey, token: int) -> None:
        ended = self._going_on.pop((key, token), None)
        if ended is not None and self.is_strict:
            self._check_long_beside(ended)

    def _check_long_beside(self, ended: Execution) -> None:
        """Whoever lost its place hears of it, and does not go on beside the one that has it now."""
        if ended.limit is None or not ended.is_counted or not self._holds(ended):
            return
        beside = [
            each
            for each in self._others_going_on(ended)
            if each.is_counted and self._holds(each) and self._well_together_ms(ended, each) > HEARD_MS
        ]
        if len(beside) >= ended.limit:
            keys = ", ".join(sorted(each.key.run_id for each in beside))
            self.violate("overlap", f"{ended.key} went on beside {keys}, though {ended.limit} is its job's maximum")

    def _others_going_on(self, one: Execution) -> list[Execution]:
        of_job = [each for each in self._going_on.values() if each.key.job_key == one.key.job_key]
        return [each for each in of_job if each.key != one.key]

    def _well_together_ms(self, one: Execution, other: Execution) -> int:
        since = max(one.at, other.at, one.host.troubled_at, other.host.troubled_at)
        return self.now() - since if other.host.is_alive and not other.host.is_paused else 0

    def _check_definition(self, begun: Execution) -> None:
        """Never one older than a change that was acknowledged a second before the start."""
        before = begun.at - READ_AGAIN_MS - READ_MS
        newest = max((told.revision for told in self.told[begun.key.job_key] if told.at <= before), default=0)
        if begun.revision < newest and begun.is_well:
            detail = f"{begun.key} started with revision {begun.revision}, though {newest} had been answered"
            self.violate("definition", detail)

    def _others(self, begun: Execution) -> list[Execution]:
        return [each for each in self._valid() if each.key.job_key == begun.key.job_key and each.key != begun.key]

    def _valid(self) -> list[Execution]:
        """Those that go on and still hold their run."""
        return [each for each in self._going_on.values() if each.is_well and self._holds(each)]

    def _holds(self, execution: Execution) -> bool:
        row = self.rows.get(execution.key)
        is_running = row is not None and row.status is RunStatus.RUNNING and row.token == execution.token
        return is_running and row is not None and row.lease_until > self.now()

    def _check_room(self, others: list[Execution], limit: int, begun: Execution, whose: str) -> None:
        if len(others) >= limit:
            keys = ", ".join(sorted(each.key.run_id for each in others))
            self.violate("overlap", f"{begun.key} started beside {keys}, though {limit} is {whose} maximum")

    def succeeds(self, key: RunKey, token: int, slot: Instant) -> None:
        begun = self.begun.get((key, token))
        if begun is None or not self._holds(begun) or _IS_ASKED_FOR in key.run_id:
            return
        same = self._succeeded[key.job_key, slot]
        same.add(key)
        if len(same) > 1:
            self.violate("twice", f"slot {slot} of {key.job_key} succeeded as each of {sorted(same)}")

    def erased(self, keys: Collection[RunKey]) -> None:
        for each in [each for each in self.begun if each[0] in keys]:
            del self.begun[each]

    # Rows ------------------------------------------------------------------------------------------------------------

    def row_written(self, old: Run | None, run: Run) -> None:
        """What was delivered is never given up as if it had not been."""
        if not self.is_strict:
            return
        if old is None or old.token != run.token or old.status is not RunStatus.RUNNING or run.status is old.status:
            if old is not None and run.token > old.token and run.status is RunStatus.RUNNING:
                self._check_taken(old, run)
            return
        has_begun = (run.key, run.token) in self.begun
        if has_begun and run.started_at is None and run.status in {RunStatus.SKIPPED, RunStatus.CANCELLED}:
            self.violate("begun", f"{run.key} is {run.status} ({run.reason}) as if its target had not been called")
        if has_begun and run.status is RunStatus.WAITING and run.attempts == old.attempts:
            self.violate("begun", f"{run.key} is given back ({run.reason}) though its target was called")
        if run.status is RunStatus.SKIPPED and self._was_begun(run):
            self.violate("begun", f"{run.key} is skipped ({run.reason}) though an attempt of it was begun")

    def _was_begun(self, run: Run) -> bool:
        """Since it was last run again."""
        first = run.attempts_before
        return any(
            (run.key, token) in self.begun and not (first and self._is_before(run, token))
            for token in range(1, run.token + 1)
        )

    def _is_before(self, run: Run, token: int) -> bool:
        return run.tried_since is None or self.begun[run.key, token].at < run.tried_since

    def _check_taken(self, old: Run, run: Run) -> None:
        """Nobody claims a run whose target is at work under a lease that counts."""
        going_on = self._going_on.get((run.key, old.token))
        if going_on is None or not going_on.is_well or old.status is not RunStatus.RUNNING:
            return
        if old.lease_until > self.now():
            self.violate("two", f"{run.key} is claimed with {run.token} while {going_on.host.name} runs it")
