"""B52: whatever text a payload holds comes back as it was, or is refused at create; none fails when it is sent."""

from __future__ import annotations

import json

import pytest

from functions.worker.executor import Executor
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Targets
from shared.adapters.memory import MemoryDueQueue, SeededRandomness
from shared.domain.instants import Instant
from shared.domain.keys import run_id_of
from shared.domain.limits import UNSENDABLE
from shared.domain.message import Dispatch, encode
from tests.unit.api.world import World
from tests.unit.worker.workshop import RecordedTarget

NAME = "日本語 🚀"
TEXTS = [
    "bell \x07",
    "no character \uffff",
    "null \x00",
    "🚀 \U0001d54f",
    "\u200f\u05e9\u05dc\u05d5\u05dd",
    "line\u2028end",
    "",
    "\\ud800",
]


def create(world: World, text: str) -> tuple[int, object]:
    """As a client writes it, every character escaped; then as it is."""
    body = {
        "job_id": "job",
        "name": NAME,
        "schedule": {"in": "PT1S"},
        "target": {"type": "handler", "name": "echo"},
        "payload": {text: [text]},
    }
    reply = world.send("POST", "/v1/jobs", json.dumps(body))
    return reply.status, reply.json


def seen_by_a_handler(world: World) -> object:
    job = world.job("job")
    queue = MemoryDueQueue(world.clock)
    target = RecordedTarget()
    slot = Instant(world.clock.advance(1_000))
    dispatch = Dispatch(job.job_key, job.generation, slot, slot, run_id_of(slot), 0, 1, slot, is_single=True)
    assert UNSENDABLE.search(encode(dispatch)) is None
    queue.send([dispatch])
    worker = Executor(
        queue=queue,
        run_store=world.runs,
        job_store=world.jobs,
        targets=Targets({"handler": target}),
        clock=world.clock,
        randomness=SeededRandomness(),
        settings=WorkerSettings(),
        worker_id="worker",
    )
    worker.claim_once(queue.receive(limit=1, wait_seconds=0, visibility_seconds=30))
    for live in worker.start_due_once():
        worker.execute(live)
    [call] = target.calls
    return call.payload


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_payload_reaches_its_handler_as_it_was_written(text: str) -> None:
    world = World()

    assert create(world, text)[0] == 201
    assert world.job("job").name == NAME
    assert seen_by_a_handler(world) == {text: [text]}


@pytest.mark.parametrize("text", ["\ud800", "\udfff x"], ids=ascii)
def test_half_a_character_is_refused_at_create(text: str) -> None:
    status, problem = create(World(), text)

    assert status == 400, problem
