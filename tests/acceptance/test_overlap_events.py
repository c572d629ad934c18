"""Runs of one job beside each other on real workers, and what is told of them on the real bus."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import jsonschema_rs
import pytest

from localstack import endpoints
from localstack.stack import Stack
from shared.domain.events import SCHEMAS, EventType
from tests.acceptance.raw import RawClient
from tests.acceptance.waiting import moment, unique, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

ENDED = {"succeeded", "failed", "timed_out", "cancelled", "skipped"}
FAR = {"cron": "0 0 1 1 *", "timezone": "UTC"}


@dataclass
class Listener:
    """A queue that a rule feeds with everything from the deployment's bus."""

    sqs: Any
    url: str
    seen: dict[str, list[tuple[str, dict[str, Any]]]] = field(default_factory=lambda: defaultdict(list))

    def listen(self) -> None:
        answer = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        for message in answer.get("Messages", []):
            event = json.loads(message["Body"])
            assert event["source"] == "carillon"
            self.seen[event["detail"]["job_id"]].append((event["detail-type"], event["detail"]))
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def told(self, job_id: str, *types: str) -> list[tuple[str, dict[str, Any]]]:
        """What was told of the job, once each of these types has been."""

        def look() -> list[tuple[str, dict[str, Any]]] | None:
            self.listen()
            found = self.seen[job_id]
            return found if set(types) <= {kind for kind, _ in found} else None

        return wait_for(look, seconds=30, what=f"events {types} of {job_id}")


@pytest.fixture(scope="module")
def listener(stack: Stack) -> Iterator[Listener]:
    sqs, events = endpoints.sqs(stack.endpoint), endpoints.client("events", endpoint=stack.endpoint)
    name, bus = unique("listener"), stack.outputs["EventBusName"]
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps({"source": ["carillon"]}))
    events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
    yield Listener(sqs, url)
    events.remove_targets(Rule=name, EventBusName=bus, Ids=["queue"])
    events.delete_rule(Name=name, EventBusName=bus)
    sqs.delete_queue(QueueUrl=url)


@dataclass(frozen=True)
class Several:
    """Runs of one job that were asked for at almost the same time."""

    job_id: str
    run_ids: list[str]


def ask_for(raw: RawClient, count: int, *, seconds: float, **policy: Any) -> Several:
    job_id = unique("overlap")
    target, payload = {"type": "handler", "name": "sleep"}, {"seconds": seconds}
    created = raw.post("/v1/jobs", {"job_id": job_id, "schedule": FAR, "target": target, "payload": payload, **policy})
    assert created.status == 201, created.body
    run_ids = []
    for number in range(count):
        if number == 1:
            # The others find one that runs.
            wait_for(lambda: statuses(raw, job_id) == ["running"], seconds=20, what=f"the first run of {job_id} starts")
        answer = raw.post(f"/v1/jobs/{job_id}/runs", {})
        assert answer.status == 202, answer.body
        run_ids.append(answer.body["run_id"])
    return Several(job_id, run_ids)


def statuses(raw: RawClient, job_id: str) -> list[str]:
    return [run["status"] for run in raw.get(f"/v1/jobs/{job_id}/runs").body["items"]]


def ended(raw: RawClient, several: Several) -> list[dict[str, Any]]:
    """In the order in which they were asked for."""

    def look() -> list[dict[str, Any]] | None:
        runs = {run["run_id"]: run for run in raw.get(f"/v1/jobs/{several.job_id}/runs").body["items"]}
        return [runs[each] for each in several.run_ids] if {run["status"] for run in runs.values()} <= ENDED else None

    return wait_for(look, seconds=60, what=f"the runs of {several.job_id} end")


def spans(runs: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    """From start to end, of those that started, the earliest first."""
    return sorted((moment(run["started_at"]), moment(run["ended_at"])) for run in runs if run["started_at"])


def shown(runs: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return sorted((run["status"], run["reason"]) for run in runs)


def skips(runs: list[dict[str, Any]]) -> None:
    assert shown(runs) == [("skipped", "overlap"), ("skipped", "overlap"), ("succeeded", None)]


def buffers_one(runs: list[dict[str, Any]]) -> None:
    assert shown(runs) == [("skipped", "overlap"), ("succeeded", None), ("succeeded", None)]
    [first, second] = spans(runs)
    assert first[1] <= second[0]


def cancels_the_other(runs: list[dict[str, Any]]) -> None:
    first, second = runs
    assert (first["status"], first["output"], second["status"]) == ("cancelled", "cancelled", "succeeded")
    assert moment(first["ended_at"]) <= moment(second["started_at"])


def delays(runs: list[dict[str, Any]]) -> None:
    assert shown(runs) == [("succeeded", None)] * 4
    assert {run["attempt"] for run in runs} == {1}
    for begin, _ in spans(runs):
        assert sum(start <= begin < end for start, end in spans(runs)) <= 2


POLICIES: list[tuple[Callable[[list[dict[str, Any]]], None], int, float, dict[str, Any]]] = [
    (skips, 3, 4, {"overlap": "skip"}),
    (buffers_one, 3, 4, {"overlap": "buffer_one"}),
    (cancels_the_other, 2, 6, {"overlap": "cancel_other"}),
    (delays, 4, 3, {"max_concurrent": 2}),
]


def test_each_overlap_policy_does_as_it_says_and_tells_it(raw: RawClient, listener: Listener) -> None:
    asked = [ask_for(raw, count, seconds=seconds, **policy) for _, count, seconds, policy in POLICIES]

    for (check, *_), several in zip(POLICIES, asked, strict=True):
        runs = ended(raw, several)
        check(runs)
        told = listener.told(several.job_id, "job.created", *{f"run.{run['status']}" for run in runs})
        for run in runs:
            kinds = {kind for kind, detail in told if detail.get("run_id") == run["run_id"]}
            assert kinds <= {f"run.{run['status']}"}


def test_what_becomes_of_a_job_is_told_in_its_order_and_as_the_schemas_say(raw: RawClient, listener: Listener) -> None:
    several = ask_for(raw, 1, seconds=0)
    ended(raw, several)
    path = f"/v1/jobs/{several.job_id}"
    for word in ("pause", "resume"):
        assert raw.call("POST", f"{path}/{word}").status == 200
    assert raw.delete(path).status == 200

    told = listener.told(several.job_id, "job.created", "job.paused", "job.resumed", "job.cancelled", "run.succeeded")

    revisions = [detail["revision"] for kind, detail in told if kind.startswith("job.")]
    assert all(before < after for before, after in pairwise(sorted(set(revisions))))
    for kind, detail in told:
        jsonschema_rs.validator_for(dict(SCHEMAS[EventType(kind)])).validate(detail)


def test_a_worker_that_is_told_to_stop_finishes_what_runs(stack: Stack, raw: RawClient) -> None:
    """B58."""
    several = ask_for(raw, 1, seconds=6)
    wait_for(lambda: statuses(raw, several.job_id) == ["running"], seconds=20, what="it runs")
    stopped = stack.tasks()["worker-0"]
    os.kill(stopped.pid, signal.SIGTERM)

    [run] = ended(raw, several)

    assert (run["status"], run["attempt"], run["fencing_token"]) == ("succeeded", 1, 1)
    assert run["output"] == "slept 6 s"
    wait_for(
        lambda: (task := stack.tasks().get("worker-0")) is not None and task.pid != stopped.pid,
        seconds=40,
        what="another worker takes its place",
    )
