"""The fleet under faults, on real processes: whatever dies, hangs, or answers badly, no slot is lost (B22).

The jobs fire all the time, and each test looks at the slots of its own time. A stack of its own: the faults would be
everybody's.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles

import pytest

from localstack.client import client_of
from localstack.faults import Faults, Rule, faults
from localstack.receiver import Receiver, receiver
from localstack.stack import Stack, borrowed
from localstack.terminal import say
from localstack.workspace import Workspace
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.run import Run, RunKind
from tests.acceptance.waiting import wait_for
from tests.acceptance.workload import (
    EVERY_MINUTE,
    EVERY_SECOND,
    Workload,
    drift_ms,
    lateness_ms,
    now,
    sleep,
    sleep_until_second,
)

pytestmark = [pytest.mark.stack, pytest.mark.timeout(450)]

#: For the slots of a test to end after its faults have.
SETTLED_SECONDS = 150
#: For what has piled up to be worked off.
CALM_SECONDS = 120
TAKEN_OVER_MS = 8 * SECOND


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with borrowed(Workspace(Path(__file__).parents[2] / ".local" / "faults"), say=say) as running:
        yield running


@pytest.fixture(scope="module")
def hook() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept


@pytest.fixture(scope="module")
def jobs(stack: Stack, hook: Receiver) -> Iterator[Workload]:
    """20 jobs every minute and 50 every second, of which five call a webhook."""
    workload = Workload(stack)
    workload.add(20, period_ms=EVERY_MINUTE)
    workload.add(45, period_ms=EVERY_SECOND)
    workload.add(5, period_ms=EVERY_SECOND, webhook=hook.url)
    sleep(5)
    yield workload
    workload.remove()


def show(what: str) -> None:
    """Seen with `pytest -s` or `-rP`."""
    print(f"\n  {what}")  # noqa: T201


def settled(jobs: Workload, since: Instant, until: Instant) -> list[Run]:
    return jobs.assert_every_slot_succeeded_once(since, until, seconds=SETTLED_SECONDS)


def assert_one_effect_per_run(hook: Receiver, runs: list[Run]) -> None:
    """No slot called its webhook twice."""
    ids = {f"{run.job_key.partition('/')[2]}_{run.run_id}" for run in runs}
    calls = Counter(request.headers["webhook-id"] for request in list(hook.requests))
    assert {run_id: count for run_id, count in calls.items() if run_id in ids and count > 1} == {}


@pytest.mark.parametrize("second", [58, 59, 0, 1, 2])
def test_killing_the_owner_about_a_minute_loses_no_slot(
    jobs: Workload, hook: Receiver, stack: Stack, second: int
) -> None:
    jobs.wait_until_owned()
    sleep_until_second(second)
    since = now()
    killed = jobs.busiest()
    os.kill(stack.tasks()[killed].pid, signal.SIGKILL)
    sleep(12)
    runs = settled(jobs, Instant(since - 5 * SECOND), Instant(since + 10 * SECOND))
    slowest = max(map(lateness_ms, runs))
    show(f"{killed} killed at second {second}: its last slot was dispatched {slowest} ms late")
    assert slowest <= TAKEN_OVER_MS
    assert_one_effect_per_run(hook, runs)
    assert {run.attempt for run in runs} == {1}


def test_an_owner_that_was_frozen_is_refused_when_it_wakes(jobs: Workload, hook: Receiver, stack: Stack) -> None:
    stack.wait_for_tasks("scheduler", 2)
    jobs.wait_until_owned()
    since = now()
    zombie = jobs.busiest()
    node_id = jobs.node_id(zombie)
    before = jobs.snapshot().leases
    pid = stack.tasks()[zombie].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        sleep(20)
        taken = jobs.snapshot().leases
        assert node_id not in {lease.owner for lease in taken.values()}
    finally:
        os.kill(pid, signal.SIGCONT)
    mine = [number for number, lease in before.items() if lease.owner == node_id]
    assert all(taken[number].epoch > before[number].epoch for number in mine)

    lost = wait_for(
        lambda: [line for line in jobs.log(zombie) if line.get("action") == "shard.lose"],
        seconds=10,
        what="the zombie notices what it lost",
    )
    show(f"{zombie} was frozen for 20 s, and then told that {len(lost)} of its shards are another's")
    sleep(3)
    runs = settled(jobs, since, now())
    assert_one_effect_per_run(hook, runs)
    assert max(map(lateness_ms, runs)) <= TAKEN_OVER_MS


def test_a_third_node_gets_its_share_without_a_pause(jobs: Workload, hook: Receiver, stack: Stack) -> None:
    jobs.wait_until_owned()
    since = now()
    stack.scale("scheduler", 3)
    wait_for(
        lambda: sorted(jobs.shards_by_task().values()) == [1, 1, 2],
        seconds=10,
        what="four shards lie on three nodes",
    )
    show(f"balanced {(now() - since) / SECOND:.1f} s after the third node was asked for")
    sleep(3)
    runs = settled(jobs, since, now())
    assert max(map(lateness_ms, runs)) <= SECOND
    assert_one_effect_per_run(hook, runs)
    stack.scale("scheduler", 2)


def test_ending_every_node_and_starting_again_loses_nothing(jobs: Workload, hook: Receiver, stack: Stack) -> None:
    since = now()
    try:
        stack.scale("scheduler", 0)
        ended_at = now()
        owners = {lease.owner for lease in jobs.snapshot().leases.values()}
    finally:
        stack.scale("scheduler", 2)
    assert owners == {None}
    jobs.wait_until_owned()
    sleep(3)
    runs = settled(jobs, since, now())
    show(f"all nodes gave their shards up within {(ended_at - since) / SECOND:.1f} s, and nothing was lost")
    assert_one_effect_per_run(hook, runs)


def test_with_the_brake_on_nothing_starts_and_afterwards_misfires_follow_their_policy(
    jobs: Workload, stack: Stack
) -> None:
    graced = Workload(stack)
    graced.add(1, period_ms=EVERY_SECOND, misfire={"policy": "fire_once", "grace": "PT2S"})
    sleep(3)
    client = client_of(stack)
    since = now()
    client.set_firing(on=False)
    try:
        sleep(3)
        held_since = now()
        sleep(8)
        held_until = now()
    finally:
        client.set_firing(on=True)
        client.close()
    sleep(3)

    runs = settled(jobs, since, now())
    assert [run for run in runs if run.started_at and held_since <= run.started_at < held_until] == []
    [found] = graced.runs_between(since, now()).values()
    [gap] = [run for run in found if run.gap is not None]
    [caught_up] = [run for run in found if run.kind is RunKind.CATCH_UP]
    assert gap.gap is not None
    assert (gap.reason, gap.gap.last + SECOND) == ("misfire", caught_up.slot)
    graced.remove()


@pytest.fixture
def clock_error(stack: Stack) -> Iterator[Callable[[int], None]]:
    """Makes the wall clocks of all nodes wrong by so many milliseconds."""
    path = stack.workspace.clock_error("scheduler")

    def make(error_ms: int) -> None:
        written = path.with_suffix(".new")
        written.write_text(str(error_ms), encoding="ascii")
        written.replace(path)

    make(0)
    stack.scale("scheduler", 0)
    stack.scale("scheduler", 2)
    yield make
    path.unlink()


def test_clocks_of_both_nodes_that_are_wrong_for_a_moment_cost_no_slot(
    jobs: Workload, hook: Receiver, stack: Stack, clock_error: Callable[[int], None]
) -> None:
    jobs.wait_until_owned()
    plain = Workload(stack)
    plain.add(5, period_ms=10 * SECOND, misfire={"policy": "fire_once"})
    sleep(12)
    before, since = jobs.snapshot().leases, now()
    clock_error(120 * SECOND)
    sleep(5)
    clock_error(0)
    right_at = now()
    sleep(15)

    until = now()
    runs = settled(plain, Instant(since - 10 * SECOND), Instant(until + 20 * SECOND))
    runs += settled(jobs, since, until)
    assert all(run.started_at is not None and run.started_at >= run.fire_at for run in runs)
    assert [run for run in runs if run.enqueued_at and run.enqueued_at > until + MINUTE] == []
    assert {number: lease.owner for number, lease in jobs.snapshot().leases.items()} == {
        number: lease.owner for number, lease in before.items()
    }
    slowest = max(map(lateness_ms, runs))
    show(f"clocks 120 s ahead for {(right_at - since) / SECOND:.1f} s: the last slot was dispatched {slowest} ms late")
    assert slowest <= TAKEN_OVER_MS + 5 * SECOND
    assert_one_effect_per_run(hook, runs)
    plain.remove()


@pytest.fixture(scope="module")
def proxy(stack: Stack, jobs: Workload) -> Iterator[Faults]:
    """Between all tasks and the emulator."""
    with faults(stack.workspace, stack.endpoint) as running:
        stack.route(running.endpoint)
        jobs.wait_until_owned()
        sleep(3)
        yield running
        stack.route(None)


def error(service: str, code: str, status: int, **rule: object) -> Rule:
    return {"service": service, "error": {"code": code, "status": status}, **rule}


#: How long, and what. The outage first: a claim whose answer is lost for good makes its run wait two minutes.
DYNAMODB: dict[str, tuple[float, Rule]] = {
    "is out": (15, error("dynamodb", "InternalServerError", 503)),
    "throttles": (8, error("dynamodb", "ProvisionedThroughputExceededException", 400, probability=0.5)),
    "fails": (8, error("dynamodb", "InternalServerError", 500, probability=0.5)),
    "is slow": (8, {"service": "dynamodb", "latency": {"min": 200, "max": 600}}),
    "loses answers": (8, {"service": "dynamodb", "response": {"abort_bytes": 0}, "probability": 0.3}),
}
SQS: dict[str, tuple[float, Rule]] = {
    "is out": (12, error("sqs", "ServiceUnavailable", 503)),
    "fails": (8, error("sqs", "InternalError", 500, probability=0.5)),
    "loses answers": (8, {"service": "sqs", "response": {"abort_bytes": 0}, "probability": 0.3}),
}


def runs_of_calm(jobs: Workload) -> list[Run] | None:
    """The runs of three seconds, once most of them start within a second."""
    sleep(2)
    found = jobs.runs_between(Instant(now() - 5 * SECOND), Instant(now() - 2 * SECOND))
    runs = [run for runs in found.values() for run in runs]
    drifts = [drift_ms(run) for run in runs if run.started_at is not None]
    is_calm = len(drifts) == len(runs) >= len(found) and median(drifts) < SECOND
    return runs if is_calm else None


@pytest.mark.parametrize(("service", "bad_times"), [("DynamoDB", DYNAMODB), ("SQS", SQS)])
def test_a_service_that_answers_badly_costs_time_and_no_slot(
    jobs: Workload, proxy: Faults, service: str, bad_times: dict[str, tuple[float, Rule]]
) -> None:
    before = jobs.snapshot().leases
    since = now()
    for what, (seconds, rule) in bad_times.items():
        proxy.make(rule)
        sleep(seconds)
        show(f"{service} {what} for {seconds:.0f} s: {proxy.made()} calls met it")
    proxy.stop()
    runs = settled(jobs, since, now())
    show(f"{len(runs)} slots meanwhile, the latest start {max(map(drift_ms, runs)) / SECOND:.1f} s late")

    calm = wait_for(lambda: runs_of_calm(jobs), seconds=CALM_SECONDS, what="drift is as it was before")
    drifts = sorted(map(drift_ms, calm))
    show(f"afterwards drift is {median(drifts):.0f} ms at the median, p95 {quantiles(drifts, n=20)[-1]:.0f} ms")
    # No mass stealing: a shard may change hands in an outage, but not over and over.
    epochs = [lease.epoch - before[number].epoch for number, lease in jobs.snapshot().leases.items()]
    assert max(epochs) <= 3, epochs
