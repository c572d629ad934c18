"""Callers of the API: each call runs the API's own editor on a host that lives for thirty seconds."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, cast

from functions.api.backend import Backend
from functions.api.callers import Caller
from functions.api.changes import patched, with_state
from functions.api.editor import JobEditor
from functions.api.gate import Call
from functions.api.refusals import Refused
from functions.api.requests import CreateJob
from functions.api.room import Room
from functions.api.run_changes import RETENTION_MS, RunChangeRoutes
from functions.api.run_planner import RunPlanner
from functions.api.validating import validated
from shared.adapters.memory import MemoryAccessStore, SeededRandomness
from shared.domain.durations import format_duration
from shared.domain.errors import InvalidRequest, StoreError
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.domain.keys import RunKey, job_key
from shared.domain.redrive import may_run_again
from shared.domain.run import Run
from shared.domain.timing import API_TIMEOUT_MS
from tests.simulation.hosts import Host, HostClock
from tests.simulation.network import Remote, RemoteEntries

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
_TARGET = {"type": "handler", "name": "simulated"}


class ApiCall:
    """One invocation of the API."""

    def __init__(self, world: World, host: Host, operation: str, job_id: str) -> None:
        self._world = world
        self._host = host
        self._job_id = job_id
        self._clock = HostClock(host)
        host.ends_at = world.engine.now + API_TIMEOUT_MS
        backend = self._backend = Backend(
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
        self._editor = JobEditor(backend, Room(world.jobs, self._clock, most=_MOST_JOBS))
        run = getattr(self, operation)
        world.engine.spawn(host, operation, lambda: self._answer(operation, run))

    def _answer(self, operation: str, run: Any) -> None:
        note = self._world.note
        try:
            run()
            note(self._host.name, f"{operation} answered", (self._job_id,), None)
        except (Refused, InvalidRequest, StoreError) as error:
            note(self._host.name, f"{operation} refused", (self._job_id, error), None)
        except Exception:  # noqa: BLE001 (whatever it is, it must not be missed)
            self._world.ledger.violate("bug", f"{self._host.name}.{operation}: {traceback.format_exc()}")
        self._world.calls.discard(self._host.name)
        self._host.kill()

    def create(self) -> None:
        body = self._world.schedules.job(self._job_id, self._clock.now())
        self._editor.create(_CALL, validated(CreateJob, body))

    def reschedule(self) -> None:
        schedule = self._world.schedules.schedule(self._clock.now())
        patch: dict[str, Any] = {"schedule": schedule}
        self._editor.change(_CALL, self._job_id, lambda job, now: patched(job, patch, by="api", now=now))

    def payload(self) -> None:
        patch = {"payload": {"n": self._clock.now()}}
        self._editor.change(_CALL, self._job_id, lambda job, now: patched(job, patch, by="api", now=now))

    def pause(self) -> None:
        change = self._editor.change(_CALL, self._job_id, lambda job, now: with_state(job, JobState.PAUSED, by="api", now=now))  # fmt: skip  # noqa: E501
        self._world.ledger.answered(change.job, frozenset())

    def resume(self) -> None:
        self._editor.change(_CALL, self._job_id, lambda job, now: with_state(job, JobState.ACTIVE, by="api", now=now))

    def delete(self) -> None:
        change, cancellation = self._editor.cancel(_CALL, self._job_id)
        self._world.ledger.answered(change.job, frozenset(cancellation.run_ids))

    def recreate(self) -> None:
        self.delete()
        self.create()

    def run_now(self) -> None:
        RunPlanner(self._backend, self._editor).run_now(_CALL, self._job_id, None)

    def run_again(self) -> None:
        """A redrive."""
        key = self._run_that(may_run_again)
        if key is not None:
            RunChangeRoutes(self._backend, self._editor)._retried(_CALL, self._job_id, key.run_id)

    def cancel_run(self) -> None:
        key = self._run_that(lambda run: run.status.is_alive)
        if key is not None:
            now = self._clock.now()
            self._backend.runs.request_cancel(key, at=now, expires_at=Instant(now + RETENTION_MS))

    def _run_that(self, admits: Callable[[Run], bool]) -> RunKey | None:
        tables = self._world.tables
        keys = sorted(tables.runs_of_job.get(key_of(self._job_id), ()))
        admitted = [key for key in keys if admits(tables.runs[key])]
        return self._world.random.choice(admitted[-6:]) if admitted else None


OPERATIONS = (
    "create", "create", "reschedule", "payload", "pause", "resume", "delete", "recreate",
    "run_now", "run_again", "cancel_run",
)  # fmt: skip


class Schedules:
    """What callers ask for: jobs of every kind, most of them due within the run."""

    def __init__(self, random: Random, *, ends_at: int | None) -> None:
        self._random = random
        #: Of jobs that fire often: before a silence they must be over.
        self.ends_at = ends_at

    def job(self, job_id: str, now: Instant) -> dict[str, Any]:
        body: dict[str, Any] = {"job_id": job_id, "schedule": self.schedule(now), "target": _TARGET}
        body["timeout"] = self._random.choice(["PT1S", "PT10S", "PT60S", "PT5M"])
        if self._random.random() < 0.1:
            body["keep_after_completion"] = "PT0S"
        if self._random.random() < 0.4:
            body["retry"] = {
                "max_attempts": self._random.randint(1, 3),
                # Half of the waits after the last of these are long enough to become a single fire.
                "base": self._random.choice(["PT0S", "PT5S", "PT2M"]),
                "cap": "PT2M",
            }
        if self._random.random() < 0.2:
            body["overlap"] = self._random.choice(["skip", "buffer_one", "cancel_other"])
        if self._random.random() < 0.4:
            body["misfire"] = {
                "policy": self._random.choice(["fire_once", "fire_all", "skip"]),
                "grace": self._random.choice(["PT30S", "PT60S", None]),
                "limit": self._random.randint(1, 4),
            }
        if self._random.random() < 0.1:
            body["state"] = "paused"
        return body

    def schedule(self, now: Instant) -> dict[str, Any]:
        random = self._random
        dice = random.random()
        if dice < 0.3:
            return {"at": to_rfc3339(Instant(now + random.randint(-60, 90) * SECOND + random.randint(1, 999)))}
        if dice < (0.4 if self.ends_at is not None else 0.36):
            anchor = Instant(now + random.randint(2, 40) * SECOND)
            return {"every": random.choice(["P1D", "PT7H"]), "anchor": to_rfc3339(anchor)}
        schedule = self._recurring(now)
        if random.random() < 0.2:
            schedule["max_runs"] = random.randint(1, 12)
        elif self.ends_at is not None:
            schedule["end_at"] = to_rfc3339(Instant(max(self.ends_at, now + 5 * SECOND)))
        elif random.random() < 0.1:
            schedule["end_at"] = to_rfc3339(Instant(now + random.randint(1, 60) * SECOND))
        if random.random() < 0.2:
            schedule["window"] = random.choice(["PT1S", "PT5S", "PT30S"])
        return schedule

    def _recurring(self, now: Instant) -> dict[str, Any]:
        random = self._random
        if random.random() < 0.5:
            schedule = {"every": format_duration(random.choice([1, 1, 2, 3, 7, 15, 40]) * SECOND)}
            if random.random() < 0.4:
                schedule["anchor"] = to_rfc3339(Instant(now + random.randint(-10, 20) * SECOND))
            return schedule
        expression = random.choice(
            ["*/2 * * * * *", "58,59 * * * * *", "0 * * * * *", "*/10 * * * * *", "0-3 * * * * *"]
        )
        return {"cron": expression, "seconds": True}


def key_of(job_id: str) -> str:
    return job_key(OWNER, job_id)
