"""What runs call in a simulated world."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, cast

from functions.worker.targets import Call, Later, Outcome, failed, succeeded
from shared.domain.run import RunStatus
from tests.simulation.hosts import Host, HostClock

if TYPE_CHECKING:
    from tests.simulation.world import World

OWN_OPERATIONS = ("reschedule", "pause", "resume", "delete", "recreate")


class TargetBroke(Exception):
    """On purpose."""


class SimulatedTarget:
    """Takes its time, and now and then fails, breaks or hangs."""

    def __init__(self, world: World, host: Host, clock: HostClock) -> None:
        self._world = world
        self._host = host
        self._clock = clock

    def call(self, call: Call) -> Outcome:
        world = self._world
        world.ledger.started(
            self._host.name, call.key, call.slot, call.token, worker_now=self._clock.now(), due=call.fire_at
        )
        world.note(self._host.name, "target", (call.key, call.token), None)
        try:
            outcome = self._outcome(call)
        finally:
            world.ledger.executions.ends(call.key, call.token)
        if outcome.status is RunStatus.SUCCEEDED:
            world.ledger.executions.succeeds(call.key, call.token, call.slot)
        return outcome

    def _outcome(self, call: Call) -> Outcome:
        world, random = self._world, self._world.random
        if random.random() < world.profile.own_changes and not world.network.is_healed:
            # A handler that changes or ends its own job, at the very moment at which the scheduler is busy with it.
            world.call(random.choice(OWN_OPERATIONS), call.job_id)
        if world.network.is_healed or random.random() >= world.profile.slow_runs:
            world.engine.sleep(random.randint(0, 200))
            return succeeded()
        if random.random() < world.profile.odd_reports:
            # What a handler in plain Python may do.
            call.report(cast("str", random.choice(["half", 50, "\ud800"])))
        world.engine.sleep(random.choice(world.profile.run_times_ms))
        dice = random.random()
        if dice < 0.3:
            raise TargetBroke
        return failed("simulated", "no") if dice < 0.5 else succeeded()


class SimulatedReceivers:
    """The same, and no thread of the worker waits for it: the task here stands for the sockets."""

    def __init__(self, world: World, host: Host, clock: HostClock) -> None:
        self._world = world
        self._host = host
        self._target = SimulatedTarget(world, host, clock)

    def call(self, call: Call) -> Later:
        answer: Future[Outcome] = Future()

        def work() -> None:
            try:
                outcome = self._target.call(call)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is the answer)
                answer.set_exception(error)
            else:
                answer.set_result(outcome)

        self._world.engine.spawn(self._host, "receiver", work)
        return Later(answer, answer.result)
