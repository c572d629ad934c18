"""Callers of the API: each call runs the API's own routes on a host that lives for thirty seconds."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from functions.api.asked_runs import AskedRunRoutes
from functions.api.backend import Backend
from functions.api.backfills import BackfillRoutes
from functions.api.bulk import BulkRoutes
from functions.api.callers import Caller
from functions.api.editor import ANY_JOB, Change, Creation, JobEditor, Put
from functions.api.failures import FailureRoutes
from functions.api.gate import CALL, Call
from functions.api.idempotency import KeyedRequest
from functions.api.jobs import JobRoutes
from functions.api.refusals import Refused
from functions.api.requests import Backfill, CreateJob, RedriveRuns, SelectJobs
from functions.api.room import Room
from functions.api.run_changes import RunChangeRoutes
from functions.api.validating import validated
from shared.adapters.memory import MemoryAccessStore, SeededRandomness
from shared.domain.errors import InvalidRequest, ItemRefused, StoreError
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.job import Cancellation, Job, JobState
from shared.domain.keys import RunKey, job_key
from shared.domain.redrive import may_run_again
from shared.domain.run import Run
from shared.domain.timing import API_TIMEOUT_MS
from shared.ports import JobFilter
from tests.simulation.hosts import Host, HostClock
from tests.simulation.ledger import Ledger
from tests.simulation.network import Odd
from tests.simulation.remotes import Remote, RemoteEntries

if TYPE_CHECKING:
    from tests.simulation.world import World

OWNER = "acme"
_MOST_JOBS = 1_000
_CALL = Call(
    route=cast("Any", None),
    caller=Caller(OWNER, "simulation", frozenset()),
    request_id="",
    body={},
    query=(),
    if_match=None,
    if_none_match=None,
    keyed=None,
)
_KEYED = frozenset({"create", "reschedule", "member", "pause", "resume", "run_now", "redrive"})


@dataclass(slots=True)
class Asked:
    """A request under an Idempotency-Key, to be repeated."""

    number: int
    operation: str
    job_id: str
    body: Any
    is_answered: bool = False

    @property
    def keyed(self) -> KeyedRequest:
        return KeyedRequest(OWNER, f"key-{self.number}", f"{self.operation} {self.job_id} {self.body}")


@dataclass(frozen=True, slots=True)
class RecordedEditor(JobEditor):
    """The ledger hears what callers were told."""

    ledger: Ledger = cast("Ledger", None)

    def create(self, call: Call, request: CreateJob) -> Creation:
        creation = JobEditor.create(self, call, request)
        self.ledger.executions.answered(creation.job.job_key, creation.job.revision)
        return creation

    def put(self, call: Call, job_id: str, request: CreateJob) -> Put:
        put = JobEditor.put(self, call, job_id, request)
        self._tell(put.job)
        return put

    def change(self, call: Call, job_id: str, decide: Callable[[Job, Instant], Job]) -> Change:
        change = JobEditor.change(self, call, job_id, decide)
        self._tell(change.job)
        return change

    def cancel(
        self, call: Call, job_id: str, *, only: JobFilter = ANY_JOB, is_erased: bool = False
    ) -> tuple[Change, Cancellation]:
        change, cancellation = JobEditor.cancel(self, call, job_id, only=only, is_erased=is_erased)
        self.ledger.answered(change.job, frozenset(cancellation.run_ids), more=cancellation.more)
        return change, cancellation

    def _tell(self, job: Job) -> None:
        self.ledger.executions.answered(job.job_key, job.revision)
        if job.state is JobState.PAUSED:
            self.ledger.answered(job, frozenset())


class ApiCall:
    """One invocation of the API."""

    def __init__(self, world: World, host: Host, operation: str, job_id: str) -> None:
        self._world = world
        self._host = host
        self._job_id = job_id
        self._clock = HostClock(host)
        self._call = _CALL
        host.ends_at = world.engine.now + API_TIMEOUT_MS
        self._backend = Backend(
            jobs=Remote(world.network, host, "jobs", world.jobs),
            runs=Remote(world.network, host, "runs", world.runs),
            entries=RemoteEntries(world.network, host, "entries", world.entries),
            fleet=Remote(world.network, host, "fleet", world.fleet),
            access=MemoryAccessStore(world.tables),
            clock=self._clock,
            randomness=SeededRandomness(host.name),
            shard_count=world.profile.shards,
            version="simulated",
        )
        room = Room(world.jobs, self._clock, most=_MOST_JOBS)
        self._editor = RecordedEditor(self._backend, room, world.ledger)
        self._jobs = JobRoutes(self._backend, self._editor)
        world.engine.spawn(host, operation, lambda: self._answer(operation))

    def _answer(self, operation: str) -> None:
        note = self._world.note
        try:
            self._act(operation)
            note(self._host.name, f"{operation} answered", (self._job_id,), None)
        except ItemRefused as error:
            self._world.ledger.violate("answer", f"{operation} of {self._job_id} can never be answered: {error}")
        except (Refused, InvalidRequest, StoreError, Odd) as error:
            note(self._host.name, f"{operation} refused", (self._job_id, error), None)
        except Exception:  # noqa: BLE001 (whatever it is, it must not be missed)
            self._world.ledger.violate("bug", f"{self._host.name}.{operation}: {traceback.format_exc()}")
        self._world.calls.discard(self._host.name)
        self._host.kill()

    def _act(self, operation: str) -> None:
        world = self._world
        if operation == "repeat":
            self._repeat()
            return
        ask = getattr(self, f"_body_of_{operation}", None)
        body = None if ask is None else ask()
        if not world.profile.is_strict or operation not in _KEYED or world.random.random() < 0.5:
            self._send(operation, body)
            return
        asked = Asked(len(world.asked), operation, self._job_id, body)
        world.asked.append(asked)
        self._call = replace(_CALL, keyed=asked.keyed)
        self._send(operation, body)
        asked.is_answered = True

    def _repeat(self) -> None:
        """The same request under the same key: what was answered once changes nothing any more."""
        world = self._world
        if not world.asked:
            return
        asked = world.random.choice(world.asked[-6:])
        self._job_id, self._call = asked.job_id, replace(_CALL, keyed=asked.keyed)
        was_answered = asked.is_answered
        try:
            self._send(asked.operation, asked.body)
        finally:
            written = world.ledger.writes[self._host.name]
            if was_answered and written:
                self._world.ledger.violate(
                    "repeat",
                    f"{asked.operation} of {asked.job_id} under {asked.keyed.idempotency_key} again: {written}",
                )
        asked.is_answered = True

    def _send(self, operation: str, body: Any) -> None:
        act = getattr(self, f"_{operation}")
        if body is None:
            act()
        else:
            act(body)

    @property
    def _request(self) -> Any:
        return SimpleNamespace(context={CALL: self._call})

    # Jobs ------------------------------------------------------------------------------------------------------------

    def _body_of_create(self) -> Any:
        return self._world.asks.job(self._job_id, self._clock.now())

    def _create(self, body: Any) -> None:
        self._editor.create(self._call, validated(CreateJob, body))

    def _body_of_reschedule(self) -> Any:
        return {"schedule": self._world.asks.schedule(self._clock.now())}

    def _reschedule(self, patch: Any) -> None:
        self._jobs.patch(self._job_id, patch, self._request)

    def _payload(self) -> None:
        self._jobs.patch(self._job_id, {"payload": {"n": self._clock.now()}}, self._request)

    def _body_of_member(self) -> Any:
        return self._world.asks.patch(self._clock.now())

    def _member(self, patch: Any) -> None:
        self._jobs.patch(self._job_id, patch, self._request)

    def _body_of_put(self) -> Any:
        body = self._world.asks.job(self._job_id, self._clock.now())
        self._world.declared[self._job_id] = body
        return body

    def _put(self, body: Any) -> None:
        self._jobs.put(self._job_id, validated(CreateJob, body), self._request)

    def _put_again(self) -> None:
        """As whoever declares jobs at each deploy does."""
        body = self._world.declared.get(self._job_id)
        if body is not None:
            self._put(body)

    def _pause(self) -> None:
        self._jobs.pause(self._job_id, self._request)

    def _resume(self) -> None:
        self._jobs.resume(self._job_id, self._request)

    def _pause_and_resume(self) -> None:
        self._pause()
        self._world.engine.sleep(self._world.random.choice([50, 1_500, 6_000]))
        self._resume()

    def _delete(self) -> None:
        self._jobs.delete(self._job_id, self._request)

    def _erase(self) -> None:
        self._jobs.delete(self._job_id, self._request, purge=True)

    def _recreate(self) -> None:
        self._delete()
        self._create(self._body_of_create())

    def _bulk(self) -> None:
        routes, body = BulkRoutes(self._backend, self._editor), SelectJobs(group=self._world.asks.group())
        act = self._world.random.choice([routes.pause, routes.resume, routes.resume])
        act(body, self._request)

    # Runs ------------------------------------------------------------------------------------------------------------

    def _run_now(self) -> None:
        AskedRunRoutes(self._backend, self._editor).run_now(self._job_id, {}, self._request)

    def _backfill(self) -> None:
        now = self._clock.now()
        since = Instant(now - self._world.random.choice([5, 20, 60]) * SECOND)
        body = validated(Backfill, {"from": to_rfc3339(since), "limit": 5})
        BackfillRoutes(self._backend, self._editor).backfill(self._job_id, body, self._request)

    def _redrive(self) -> None:
        FailureRoutes(self._backend).redrive(validated(RedriveRuns, {"all": True, "limit": 5}), self._request)

    def _run_again(self) -> None:
        """A redrive of one."""
        key = self._run_that(may_run_again)
        if key is not None:
            RunChangeRoutes(self._backend, self._editor)._retried(self._call, self._job_id, key.run_id)

    def _cancel_run(self) -> None:
        key = self._run_that(lambda run: run.status.is_alive)
        if key is not None:
            RunChangeRoutes(self._backend, self._editor).cancel(self._job_id, key.run_id, self._request)

    def _run_that(self, admits: Callable[[Run], bool]) -> RunKey | None:
        tables = self._world.tables
        keys = sorted(tables.runs_of_job.get(key_of(self._job_id), ()))
        admitted = [key for key in keys if admits(tables.runs[key])]
        return self._world.random.choice(admitted[-6:]) if admitted else None


def key_of(job_id: str) -> str:
    return job_key(OWNER, job_id)
