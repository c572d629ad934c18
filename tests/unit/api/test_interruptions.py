"""A process that dies between any two of its calls, or after one whose answer it never got.

What is stored is whole, and the same request sent again does what it should have done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.api.resolving import build
from shared.domain.entry import entry_keys, first_slot
from shared.domain.errors import OutcomeUnknown
from shared.domain.job import JobState
from shared.domain.run import RunStatus
from tests.unit.api.prepared import Example, examples, prepared
from tests.unit.api.world import SHARD_COUNT, World

CHANGES = [each for each in examples() if each.route.method != "GET" and each.operation.name != "previewSchedule"]
#: A repeat cannot show what is shown once, so it names what was made.
SHOWN_ONCE = {"createKey", "createSigningKey"}
#: A repeat finds it gone.
DELETED = {"deleteSigningKey", "deleteGrant"}
PORTS = ("jobs", "runs", "entries", "fleet", "access")
KEY = "interrupted-1"


class Dying:
    """Stores whose call number `at` fails, before or after it takes effect, and all later ones too."""

    def __init__(self, world: World, at: int, *, is_after: bool) -> None:
        self.calls = 0
        self.at = at
        self.is_after = is_after
        backend = world.backend()
        ports = {name: _Port(self, getattr(backend, name)) for name in PORTS}
        self.handler = build(_replaced(backend, ports))

    def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls > self.at or (self.calls == self.at and not self.is_after):
            raise OutcomeUnknown("any", "the process died")
        answer = method(*args, **options)
        if self.calls == self.at:
            raise OutcomeUnknown("any", "the process died")
        return answer


class _Port:
    def __init__(self, dying: Dying, store: Any) -> None:
        self._dying = dying
        self._store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return lambda *args, **options: self._dying.call(method, *args, **options)


def _replaced(backend: Any, ports: dict[str, Any]) -> Any:
    members = {name: getattr(backend, name) for name in type(backend).__slots__}
    return type(backend)(**(members | ports))


def broken(world: World) -> Iterator[str]:
    """What is stored and must not be."""
    tables = world.tables
    entries = {entry.entry_id: entry for entry in world.entries()}
    for job in tables.jobs.values():
        [announced, *_] = entry_keys(job, shard_count=SHARD_COUNT)
        entry = entries.get(announced.entry_id)
        if job.state is JobState.ACTIVE and first_slot(job) is not None and (entry is None or entry.is_tombstone):
            yield f"{job.job_key} is active and has no entry"
        if job.state is not JobState.ACTIVE and entry is not None and not entry.is_tombstone:
            yield f"{job.job_key} is {job.state} and fires"
    generations = {(job.job_key, job.generation) for job in tables.jobs.values()}
    planned = {entry.run_id for entry in entries.values() if entry.is_single}
    for entry in entries.values():
        if entry.run_id is None and (entry.job_key, entry.generation) not in generations:
            yield f"{entry.entry_id} has no job"
    for run in tables.runs.values():
        if run.status is RunStatus.WAITING and run.run_id not in planned:
            yield f"{run.run_id} waits for nothing"
    for (owner_id, key), receipt in tables.receipts.items():
        made = {*tables.keys, *(each.key_id for each in tables.signing_keys.get(owner_id, ()))}
        made |= {each.grant_id for each in tables.grants.get(owner_id, ())}
        is_of_job = f"{owner_id}/{receipt.job_id}" in tables.jobs
        # One of neither says what a request about many chose, which may be nothing.
        if (receipt.access_id or receipt.job_id) and receipt.access_id not in made and not is_of_job:
            yield f"receipt {key} is of nothing"


def send(world: World, example: Example, **options: Any) -> Any:
    return example.send(world, idempotency_key=KEY, **options)


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("example", CHANGES, ids=str)
def test_a_change_that_is_interrupted_anywhere_is_whole_and_can_be_repeated(
    example: Example, *, is_after: bool
) -> None:
    for at in range(1, 60):
        world = prepared()
        dying = Dying(world, at, is_after=is_after)
        send(world, example, handler=dying.handler)
        assert list(broken(world)) == [], at
        again = send(world, example)
        assert again.status in statuses_of_a_repeat(example), (at, again.text)
        assert list(broken(world)) == [], at
        assert_as_if_uninterrupted(world, example, at)
        if dying.calls < at:
            return
    pytest.fail("it never ended")


def statuses_of_a_repeat(example: Example) -> set[int]:
    operation = example.operation
    more = {404} if operation.name in DELETED else {409} if operation.name in SHOWN_ONCE else set()
    return {operation.status, *operation.also} | more


def assert_as_if_uninterrupted(world: World, example: Example, at: int) -> None:
    undisturbed = prepared()
    send(undisturbed, example)
    if example.operation.name in {"createJobs", "runJob", "backfillJob", "redriveRuns"}:
        # The ids differ by the dice, and starts that were booked for nothing leave a gap.
        assert counts(world) == counts(undisturbed), at
        return
    found, wanted = world.tables, undisturbed.tables
    assert (found.jobs, found.entries, found.is_firing) == (wanted.jobs, wanted.entries, wanted.is_firing), at
    assert made_for_access(world) == made_for_access(undisturbed), at


def made_for_access(world: World) -> list[int]:
    tables = world.tables
    return [len(tables.keys), *(len(each) for found in (tables.signing_keys, tables.grants) for each in found.values())]


def counts(world: World) -> tuple[int, ...]:
    tables = world.tables
    return len(tables.jobs), len(world.entries()), len(tables.runs), len(tables.receipts)
