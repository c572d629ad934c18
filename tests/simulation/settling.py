"""The function behind the queue of undelivered messages, and its event source mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from functions.dead_letters.handler import settle_all
from functions.dead_letters.settling import Settings, Settler
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND
from shared.ports import Delivery
from tests.simulation.hosts import Host, HostClock, TrueClock
from tests.simulation.lanes import SimulatedLane
from tests.simulation.remotes import Remote, RemoteJobs, RemoteLane, RemoteLetters

if TYPE_CHECKING:
    from tests.simulation.world import World

#: Between two looks of an idle poller; and how long a message is hidden from the others.
_POLL_SECONDS, _HIDDEN_SECONDS = 10, 60


class Settling:
    """One message after the other: the mapping never fails, and what the function calls may."""

    def __init__(self, world: World, host: Host) -> None:
        self._world = world
        profile, dice = replace(world.profile, duplicated=0.0), Random(world.random.random())
        self._lane = SimulatedLane(TrueClock(world.engine), dice, profile, world.ledger)
        for lane in world.lanes.values():
            lane.undelivered = self._lane
        self._queue = RemoteLane(world.network, host, self._lane)
        letters = RemoteLetters(world.network, host, "letters", world.letters)
        self._settler = Settler(
            undelivered=self._queue,
            dead_letters=dict.fromkeys(world.lanes, letters),
            run_store=Remote(world.network, host, "runs", world.runs),
            job_store=RemoteJobs(world.network, host, "jobs", world.jobs),
            clock=HostClock(host),
            randomness=SeededRandomness(host.name),
            settings=Settings(clock_bound_ms=world.worker_settings.clock_bound_ms),
        )
        world.engine.spawn(host, "settle", self._run)

    def _run(self) -> None:
        engine = self._world.engine
        while True:
            received = self._lane.receive(limit=10, wait_seconds=0, visibility_seconds=_HIDDEN_SECONDS)
            if received:
                self._settle(received)
            else:
                self._lane.wait(engine, engine.now + _POLL_SECONDS * SECOND)

    def _settle(self, received: Sequence[Delivery]) -> None:
        answered = settle_all(self._settler, {}, {"Records": [_record_of(each) for each in received]})
        kept = {each["itemIdentifier"] for each in answered["batchItemFailures"]}
        try:
            self._queue.delete([each for each in received if each.message_id not in kept])
        except StoreError:
            self._world.note("settling", "not deleted", (received,), None)


def _record_of(delivery: Delivery) -> Mapping[str, Any]:
    return {
        "messageId": delivery.message_id,
        "receiptHandle": delivery.receipt_handle,
        "body": delivery.body,
        "attributes": {"ApproximateReceiveCount": str(delivery.receive_count)},
    }
