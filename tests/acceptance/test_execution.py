"""Runs on real workers that are killed, frozen and raced with: one success, rising tokens, exact answers.

A stack of its own, for the faults would be everybody's. There the lease is 10 s and the clock bound 1 s, so that a dead
worker's run is taken over after some 12 s.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
from urllib3 import PoolManager

from localstack import endpoints
from localstack.stack import Stack, Variant, borrowed
from localstack.terminal import say
from localstack.workspace import Workspace
from shared.domain.message import Dispatch, encode
from tests.acceptance.raw import RawClient
from tests.acceptance.scripted import Reply, Script, scripted
from tests.acceptance.waiting import in_seconds, moment, unique, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(420)]

SLEEP = {"type": "handler", "name": "sleep"}
ECHO = {"type": "handler", "name": "echo"}
ONCE = {"max_attempts": 1}
#: Waits exactly as long as the webhook asks for.
PATIENT = {"max_attempts": 5, "base": "PT0S"}
WITH_A_LANE_MORE = Variant(settings={"lanes": {"bulk": {"host": "ecs", "concurrency": 2}}})
ENDED = {"succeeded", "failed", "timed_out", "cancelled", "skipped"}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    workspace = Workspace(Path(__file__).parents[2] / ".local" / "execution")
    with borrowed(workspace, say=say, variant=WITH_A_LANE_MORE) as running:
        yield running


def show(what: str) -> None:
    """Seen with `pytest -s` or `-rP`."""
    print(f"\n  {what}")  # noqa: T201


def create(raw: RawClient, **document: Any) -> str:
    job_id = unique("execution")
    given = {"job_id": job_id, "schedule": {"in": "PT1S"}, "target": ECHO, "timeout": "PT2M"}
    answer = raw.post("/v1/jobs", {**given, **document})
    assert answer.status == 201, answer.body
    return job_id


def runs_of(raw: RawClient, job_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = raw.get(f"/v1/jobs/{job_id}/runs").body["items"]
    return items


def run_when(raw: RawClient, job_id: str, *statuses: str, attempt: int = 1, seconds: float = 30) -> dict[str, Any]:
    """The job's only run, once it has one of the statuses in its attempt of this number or a later one."""
    return wait_for(
        lambda: next(
            (run for run in runs_of(raw, job_id) if run["status"] in statuses and run["attempt"] >= attempt), None
        ),
        seconds=seconds,
        what=f"the run of {job_id} is {' or '.join(statuses)} at attempt {attempt}",
    )


def test_a_lane_that_the_environment_adds_is_worked_and_any_other_is_refused(raw: RawClient) -> None:
    run = run_when(raw, create(raw, lane="bulk"), "succeeded")
    other = raw.post(
        "/v1/jobs", {"job_id": unique("lane"), "schedule": {"in": "PT1S"}, "target": ECHO, "lane": "bulky"}
    )

    assert run["attempt"] == 1
    assert (other.status, other.body["errors"][0]["pointer"]) == (400, "#/lane")
    assert "default, long, bulk" in other.body["errors"][0]["detail"]


def kill_the_worker(stack: Stack) -> None:
    """And wait for the one that takes its place."""
    killed = stack.tasks()["worker-0"]
    os.kill(killed.pid, signal.SIGKILL)
    wait_for(
        lambda: (task := stack.tasks().get("worker-0")) is not None and task.pid != killed.pid and task,
        seconds=40,
        what="another worker takes its place",
    )


def waits_between_attempts(run: dict[str, Any]) -> list[float]:
    attempts = run["attempts"]
    return [
        (moment(after["started_at"]) - moment(before["ended_at"])) / timedelta(seconds=1)
        for before, after in pairwise(attempts)
    ]


def test_a_killed_workers_run_is_retried_by_another_and_succeeds_once(stack: Stack, raw: RawClient) -> None:
    first_answer = Event()
    with scripted(Reply(after=first_answer)) as hook:
        job_id = create(raw, target={"type": "http", "url": hook.url})
        wait_for(lambda: hook.calls, seconds=20, what="the webhook is called")
        kill_the_worker(stack)

        run = run_when(raw, job_id, "succeeded", seconds=60)
        first_answer.set()

    assert (run["attempt"], run["fencing_token"]) == (2, 2)
    assert hook.tokens == [1, 2]
    lost, made = run["attempts"]
    assert (lost["error"]["type"], made["error"]) == ("lost", None)
    assert lost["worker_id"] != made["worker_id"]
    assert len(runs_of(raw, job_id)) == 1


def test_a_frozen_worker_is_refused_when_it_wakes_and_tokens_only_rise(stack: Stack, raw: RawClient) -> None:
    first_answer = Event()
    with scripted(Reply(after=first_answer)) as hook:
        job_id = create(raw, target={"type": "http", "url": hook.url})
        wait_for(lambda: hook.calls, seconds=20, what="the webhook is called")
        frozen = stack.tasks()["worker-0"]
        os.kill(frozen.pid, signal.SIGSTOP)
        try:
            stack.scale("worker", 2)
            run = run_when(raw, job_id, "succeeded", seconds=60)
            first_answer.set()
        finally:
            os.kill(frozen.pid, signal.SIGCONT)
        log = stack.workspace.log("worker-0")
        wait_for(lambda: "run.fenced" in log.read_text(), seconds=20, what="the frozen worker is told that it is late")

        assert (run["attempt"], run["fencing_token"]) == (2, 2)
        assert hook.tokens == [1, 2]
        assert runs_of(raw, job_id) == [run], "the late finish changed nothing"
        stack.scale("worker", 1)


def test_a_job_that_fails_twice_shows_three_attempts_with_the_delays_that_were_asked_for(raw: RawClient) -> None:
    with scripted(Reply(503, "2"), Reply(503, "3")) as hook:
        job_id = create(raw, target={"type": "http", "url": hook.url}, retry=PATIENT)
        run = run_when(raw, job_id, "succeeded", seconds=30)

    first, second = waits_between_attempts(run)
    show(f"asked to wait 2 s and 3 s, it waited {first:.3f} s and {second:.3f} s")
    assert [attempt["attempt"] for attempt in run["attempts"]] == [1, 2, 3]
    assert [attempt["error"] and attempt["error"]["type"] for attempt in run["attempts"]] == [
        "http_5xx",
        "http_5xx",
        None,
    ]
    assert 2 <= first < 3.5
    assert 3 <= second < 4.5
    assert hook.tokens == [1, 2, 3]


def test_a_delay_of_more_than_a_minute_leaves_the_queue_and_is_kept(stack: Stack, raw: RawClient) -> None:
    with scripted(Reply(503, "62")) as hook:
        job_id = create(raw, target={"type": "http", "url": hook.url}, retry=PATIENT)
        waiting = run_when(raw, job_id, "waiting", attempt=2)
        entries = endpoints.dynamodb(stack.endpoint).scan(TableName=stack.outputs["JobSchedulesTable"])["Items"]
        run = run_when(raw, job_id, "succeeded", seconds=90)

    assert [entry for entry in entries if entry.get("run_id", {}).get("S") == run["run_id"]] != []
    assert waiting["retry_at"] is not None
    [wait] = waits_between_attempts(run)
    show(f"asked to wait 62 s, it waited {wait:.3f} s")
    assert 62 <= wait < 63.5
    assert (run["attempt"], run["fencing_token"]) == (2, 2)


def dead_letters(stack: Stack) -> list[dict[str, Any]]:
    queue = endpoints.sqs(stack.endpoint)
    answer = queue.receive_message(
        QueueUrl=stack.outputs["DefaultDeadLetterQueueUrl"],
        MaxNumberOfMessages=10,
        VisibilityTimeout=0,
        MessageAttributeNames=["All"],
    )
    return [dict(message) for message in answer.get("Messages", [])]


def test_poison_that_kills_each_worker_ends_failed_among_the_dead_letters_and_is_redriven(
    stack: Stack, raw: RawClient
) -> None:
    job_id = create(raw, target=SLEEP, payload={"seconds": 15}, retry=ONCE)
    for attempt in (1, 2, 3):
        run_when(raw, job_id, "running", attempt=attempt, seconds=90)
        kill_the_worker(stack)
    run = run_when(raw, job_id, "failed", seconds=90)

    assert run["error"]["type"] == "lost"
    assert [attempt["error"]["type"] for attempt in run["attempts"]] == ["lost"] * 3
    letters = [letter for letter in dead_letters(stack) if job_id in letter["Body"]]
    assert [letter["MessageAttributes"]["Cause"]["StringValue"] for letter in letters] == ["lost"]
    listed = raw.get(f"/v1/runs?status=failed&job_id={job_id}").body["items"]
    assert [each["run_id"] for each in listed] == [run["run_id"]]

    redriven = raw.post("/v1/redrives", {"job_id": job_id})
    assert (redriven.status, redriven.body["redriven"]) == (202, 1), redriven.body
    again = run_when(raw, job_id, "succeeded", seconds=60)
    assert again["run_id"] == run["run_id"]
    assert again["fencing_token"] > run["fencing_token"]
    assert raw.get(f"/v1/runs?status=failed&job_id={job_id}").body["items"] == []


def test_a_message_that_its_queue_gave_up_ends_its_run(stack: Stack, raw: RawClient) -> None:
    job_id = create(raw, schedule={"in": "PT1H"}, retry=ONCE)
    job = raw.get(f"/v1/jobs/{job_id}").body
    slot = int(moment(job["next_slots"][0]).timestamp() * 1000)
    run_id = moment(job["next_slots"][0]).strftime("%Y%m%dT%H%M%S") + f"{slot % 1000:03d}Z"
    dispatch = Dispatch(f"demo/{job_id}", job["generation"], slot, slot, run_id, 0, 1, slot)  # type: ignore[arg-type]
    endpoints.sqs(stack.endpoint).send_message(
        QueueUrl=stack.outputs["UndeliveredQueueUrl"], MessageBody=encode(dispatch)
    )

    run = run_when(raw, job_id, "failed", seconds=60)

    assert run["error"]["type"] == "undelivered"
    wait_for(
        lambda: [letter for letter in dead_letters(stack) if job_id in letter["Body"]],
        seconds=20,
        what="a copy lies among the dead letters",
    )


def test_a_handler_of_ninety_seconds_survives_with_a_lease_of_ten(raw: RawClient) -> None:
    job_id = create(raw, target=SLEEP, payload={"seconds": 90})

    run = run_when(raw, job_id, *ENDED, seconds=120)

    assert (run["status"], run["attempt"], run["fencing_token"]) == ("succeeded", 1, 1)
    assert moment(run["ended_at"]) - moment(run["started_at"]) >= timedelta(seconds=90)


def test_a_cancelled_run_hears_of_it_and_its_history_keeps_both_facts(raw: RawClient) -> None:
    """B41."""
    job_id = create(raw, target=SLEEP, payload={"seconds": 100})
    running = run_when(raw, job_id, "running")

    answer = raw.call("POST", f"/v1/jobs/{job_id}/runs/{running['run_id']}/cancel")
    run = run_when(raw, job_id, *ENDED, seconds=20)

    assert (answer.status, answer.body["status"]) == (202, "running")
    assert (run["status"], run["output"]) == ("cancelled", "cancelled")
    assert moment(run["cancel_requested_at"]) <= moment(run["ended_at"])
    assert raw.get(f"/v1/jobs/{job_id}").body["state"] == "completed"


RACERS = 500
THREADS = 32
#: From the request that creates a job to its fire: longer than a busy machine takes for the request.
AHEAD_SECONDS = 4.0


@dataclass
class Race:
    """Jobs that are each deleted within 200 ms of their fire: the request leaves as much earlier as it takes."""

    raw: RawClient
    dice: Random
    latency_seconds: float = 0.1

    def run(self, job_id: str) -> dict[str, Any]:
        """What the DELETE answered."""
        at = time.time() + AHEAD_SECONDS
        schedule = {"at": in_seconds(AHEAD_SECONDS)}
        document = {"job_id": job_id, "schedule": schedule, "target": SLEEP, "payload": {"seconds": 0.1}}
        # 400: a request whose answer was lost made it, and it ran meanwhile.
        wait_for(
            lambda: self.raw.post("/v1/jobs", document).status in {201, 400, 409},
            seconds=120,
            what=f"{job_id} is created",
        )
        time.sleep(max(at + self.dice.uniform(-0.2, 0.2) - self.latency_seconds - time.time(), 0))
        began = time.monotonic()
        answer = self.raw.delete(f"/v1/jobs/{job_id}")
        self.latency_seconds += (time.monotonic() - began - self.latency_seconds) / 10
        assert answer.status == 200, answer.body
        answered: dict[str, Any] = answer.body
        return answered


def test_deletes_that_race_with_their_dispatch_answer_exactly_what_runs(raw: RawClient) -> None:
    """B40."""
    race = Race(RawClient(raw.url, raw.key, PoolManager(maxsize=THREADS, retries=False)), Random(40))
    job_ids = [unique("race") for _ in range(RACERS)]
    with ThreadPoolExecutor(THREADS) as threads:
        answers = dict(zip(job_ids, threads.map(race.run, job_ids), strict=True))
    marker = create(raw, schedule={"in": "PT5S"})
    run_when(raw, marker, "succeeded")

    outcomes: Counter[str] = Counter()
    for job_id, answer in answers.items():
        outcomes[answer["outcome"]] += 1
        runs = runs_of(raw, job_id)
        started_runs = [run["run_id"] for run in runs if run["started_at"] is not None]
        assert {run["status"] for run in runs} <= ENDED, (job_id, answer, runs)
        if answer["outcome"] == "cancelled_before_fire":
            assert started_runs == [], (job_id, answer, runs)
        elif answer["outcome"] == "running":
            assert set(started_runs) <= set(answer["run_ids"]), (job_id, answer, runs)
            assert len(answer["run_ids"]) == 1
        else:
            assert [run["status"] for run in runs] == ["succeeded"], (job_id, answer, runs)
    show(f"{RACERS} deletes about their fire: {dict(outcomes)}")
    assert outcomes.total() == RACERS
    assert outcomes["cancelled_before_fire"]
    assert outcomes["running"] + outcomes["already_ended"]


def test_the_receiver_of_a_webhook_sees_one_call_for_each_token(raw: RawClient) -> None:
    with scripted(Reply(500), Reply(500), Reply(500)) as hook:
        policy = {"max_attempts": 3, "base": "PT0S"}
        job_id = create(raw, target={"type": "http", "url": hook.url}, retry=policy)
        run = run_when(raw, job_id, *ENDED, seconds=30)
        retried = raw.call("POST", f"/v1/jobs/{job_id}/runs/{run['run_id']}/retry")
        again = run_when(raw, job_id, "succeeded", seconds=30)

    assert (run["status"], run["attempt"]) == ("failed", 3)
    assert (retried.status, retried.body["status"], retried.body["attempt"]) == (202, "waiting", 4)
    assert again["attempt"] == 4
    assert is_rising(hook)


def is_rising(hook: Script) -> bool:
    return all(before < after for before, after in pairwise(hook.tokens))
