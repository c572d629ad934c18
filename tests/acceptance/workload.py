"""Jobs that fire all the time, and what became of every one of their slots."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from carillon.client import every
from carillon.client.job_documents import Misfire
from localstack import endpoints
from localstack.client import client_of
from localstack.stack import Stack
from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb.fleet_store import DynamoFleetStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames
from shared.domain.fleet import FleetSnapshot
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.keys import job_key
from shared.domain.run import Run, RunStatus
from tests.acceptance.waiting import unique, wait_for

#: Late slots are fired, however late: what these tests look for is slots that are not.
PATIENT: Misfire = {"policy": "fire_all", "grace": None}
ECHO = {"type": "handler", "name": "echo"}
OWNER = "demo"


def now() -> Instant:
    return SystemClock().now()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def sleep_until_second(second: float) -> None:
    """Of the wall clock's minute."""
    time.sleep((second - time.time()) % 60)


@dataclass
class Workload:
    """Jobs with `period_ms` between their slots, which stand at whole periods since 1970."""

    stack: Stack
    periods: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._dynamodb = endpoints.dynamodb(self.stack.endpoint)
        outputs = self.stack.outputs
        tables = TableNames(job_runs=outputs["JobRunsTable"], fleet=outputs["FleetTable"])
        calls = Calls(SystemClock(), SystemRandomness())
        self.runs = DynamoRunStore(self._dynamodb, tables, calls)
        self.fleet = DynamoFleetStore(self._dynamodb, tables, calls)
        self._client = client_of(self.stack)

    def add(self, count: int, *, period_ms: int, webhook: str | None = None, misfire: Misfire = PATIENT) -> list[str]:
        """Create jobs; answers their ids."""
        ids = [unique(f"every-{period_ms}") for _ in range(count)]
        schedule = every(f"PT{period_ms // SECOND}S", anchor=to_rfc3339(Instant(0)))
        target = ECHO if webhook is None else {"type": "http", "url": webhook}

        def create(job_id: str) -> None:
            self._client.create_job(job_id=job_id, schedule=schedule, target=target, misfire=misfire)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(create, ids))
        self.periods |= dict.fromkeys(ids, period_ms)
        return ids

    def remove(self) -> None:
        """Delete the jobs and close the connections."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self._client.delete_job, self.periods))
        self._client.close()
        self._dynamodb.close()

    def runs_between(self, since: Instant, until: Instant) -> dict[str, list[Run]]:
        """The runs of each job with since <= slot < until."""

        def read(job_id: str) -> list[Run]:
            found = self.runs.between(job_key(OWNER, job_id), since=since, until=until)
            return [run for run in found if since <= run.slot < until]

        with ThreadPoolExecutor(4) as pool:
            return dict(zip(self.periods, pool.map(read, self.periods), strict=True))

    def assert_every_slot_succeeded_once(self, since: Instant, until: Instant, *, seconds: float) -> list[Run]:
        """Wait for the last of them; answers all the runs."""

        def all_ended() -> dict[str, list[Run]] | None:
            found = self.runs_between(since, until)
            is_done = all(
                len(runs) >= len(slots_between(self.periods[job_id], since, until))
                and not any(run.status.is_alive for run in runs)
                for job_id, runs in found.items()
            )
            return found if is_done else None

        try:
            found = wait_for(all_ended, seconds=seconds, what="every slot has a run that ended")
        except AssertionError:
            found = self.runs_between(since, until)
        problems = list(self._problems(found, since, until))
        assert not problems, f"{len(problems)} problems, such as {problems[:5]}"
        return [run for runs in found.values() for run in runs]

    def _problems(self, found: dict[str, list[Run]], since: Instant, until: Instant) -> Iterator[str]:
        for job_id, runs in found.items():
            counts = Counter(run.slot for run in runs)
            for slot in slots_between(self.periods[job_id], since, until):
                if counts[slot] != 1:
                    yield f"{job_id}: {counts[slot]} runs of {to_rfc3339(slot)}"
            for run in runs:
                if run.status is not RunStatus.SUCCEEDED:
                    yield f"{job_id}: {to_rfc3339(run.slot)} is {run.status} ({run.reason or run.error})"

    # The fleet.

    def snapshot(self) -> FleetSnapshot:
        return self.fleet.snapshot()

    def shards_by_task(self) -> dict[str, int]:
        """How many shards each running scheduler task owns, the most first."""
        owners = Counter(lease.owner for lease in self.snapshot().leases.values())
        tasks = [name for name in self.stack.tasks() if name.startswith("scheduler-")]
        shards = {name: owners[self.node_id(name)] for name in tasks}
        return dict(sorted(shards.items(), key=lambda each: -each[1]))

    def busiest(self) -> str:
        return next(iter(self.shards_by_task()))

    def node_id(self, task: str) -> str:
        """Of the process that runs now: what its log said last."""
        return next((line["node_id"] for line in reversed(self.log(task)) if "node_id" in line), "")

    def log(self, task: str) -> list[dict[str, str]]:
        text = self.stack.workspace.log(task).read_text(encoding="utf-8", errors="replace")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]

    def wait_until_owned(self, seconds: float = 30) -> None:
        """Every shard has a living owner."""

        def is_owned() -> bool:
            return sum(self.shards_by_task().values()) == len(self.snapshot().leases)

        wait_for(is_owned, seconds=seconds, what="every shard is owned by a running node")


def slots_between(period_ms: int, since: Instant, until: Instant) -> list[Instant]:
    first = -(-since // period_ms) * period_ms
    return [Instant(slot) for slot in range(first, until, period_ms)]


def lateness_ms(run: Run) -> int:
    """Of its dispatch; negative: before fire_at, as it should be."""
    assert run.enqueued_at is not None
    return run.enqueued_at - run.fire_at


def drift_ms(run: Run) -> int:
    assert run.started_at is not None
    return run.started_at - run.fire_at


EVERY_SECOND, EVERY_MINUTE = SECOND, MINUTE
