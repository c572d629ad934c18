"""The main job, end to end: accepted over HTTPS, fired on time, run, and shown."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Unpack

import pytest

from carillon.client import Client, Job, Run, Schedule, at, in_
from carillon.client.errors import InvalidRequest
from carillon.client.job_documents import JobOptions
from localstack import demo
from localstack.receiver import Receiver
from tests.acceptance.raw import RawClient
from tests.acceptance.waiting import RUN, in_seconds, moment, unique, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

ECHO = {"type": "handler", "name": "echo"}


def create(client: Client, schedule: Schedule, *, target: dict[str, Any] = ECHO, **options: Unpack[JobOptions]) -> Job:
    return client.create_job(job_id=unique("main"), schedule=schedule, target=target, **options)


def ended_run(client: Client, job: Job) -> Run:
    return client.wait_for_run(job["job_id"], timeout=20)


def started(run: Run) -> datetime:
    assert run["started_at"]
    return moment(run["started_at"])


def test_the_demo_keeps_its_promises(client: Client, webhook: Receiver) -> None:
    assert demo.show(client, webhook, suffix=RUN) == 0


def test_a_job_created_for_now_starts_within_three_seconds(client: Client) -> None:
    job = create(client, at(in_seconds(0)))
    run = ended_run(client, job)
    assert started(run) - moment(job["created_at"]) <= timedelta(seconds=3)


def test_nothing_starts_before_its_instant(client: Client) -> None:
    jobs = [create(client, at(in_seconds(4 + number / 10))) for number in range(10)]
    runs = [ended_run(client, job) for job in jobs]
    assert all(started(run) >= moment(run["fire_at"]) for run in runs)
    drifts = [run["drift_ms"] for run in runs]
    assert all(
        drift and drift["total"] == drift["dispatch"] + drift["queue"] + drift["claim"] + drift["start"]
        for drift in drifts
    )


def test_a_job_deleted_before_it_fires_never_runs(client: Client) -> None:
    doomed = create(client, at(in_seconds(4)))
    marker = create(client, at(in_seconds(7)))
    cancellation = client.delete_job(doomed["job_id"])
    assert cancellation == {"outcome": "cancelled_before_fire", "run_ids": [], "run_count": 0}
    ended_run(client, marker)
    assert [run["status"] for run in client.runs(doomed["job_id"])] in ([], ["cancelled"])
    assert client.delete_job(doomed["job_id"]) == cancellation


def test_a_one_time_job_is_completed_after_its_run(client: Client) -> None:
    job = create(client, in_("PT2S"), payload={"n": 1})
    run = ended_run(client, job)
    assert (run["status"], run["attempt"], run["fencing_token"]) == ("succeeded", 1, 1)
    shown = wait_for(
        lambda: shown if (shown := client.get_job(job["job_id"]))["state"] == "completed" else None,
        seconds=5,
        what="the job is completed",
    )
    assert shown["last_run"] == {"run_id": run["run_id"], "status": "succeeded"}
    assert shown["next_slots"] == []


def test_a_failing_handler_ends_failed_with_its_error(client: Client) -> None:
    job = create(client, in_("PT2S"), target={"type": "handler", "name": "fail"}, retry={"max_attempts": 1})
    run = ended_run(client, job)
    assert run["status"] == "failed"
    assert run["error"]
    assert run["error"]["message"]
    assert [attempt["attempt"] for attempt in run["attempts"]] == [1]


def test_a_webhook_carries_the_headers_of_its_run(client: Client, webhook: Receiver) -> None:
    payload = {"text": "日本語 🚀", "empty": "", "nested": [1, 2.5, None]}
    job = create(client, in_("PT2S"), target={"type": "http", "url": f"{webhook.url}/hook"}, payload=payload)
    run = ended_run(client, job)
    (received,) = webhook.requests
    assert received.body == payload
    assert received.headers["webhook-id"] == f"{job['job_id']}_{run['run_id']}"
    assert received.headers["carillon-slot"] == run["slot"]
    assert received.headers["carillon-attempt"] == "1"
    assert received.headers["carillon-fencing-token"] == str(run["fencing_token"])


def test_an_internal_address_is_no_target(client: Client) -> None:
    target = {"type": "http", "url": "http://169.254.170.2/v2/credentials"}
    with pytest.raises(InvalidRequest) as caught:
        create(client, in_("PT2S"), target=target)
    assert [error.pointer for error in caught.value.errors] == ["#/target/url"]


def test_a_repeated_create_with_one_idempotency_key_makes_one_job(raw: RawClient) -> None:
    document = {"schedule": {"in": "PT1H"}, "target": ECHO}
    key = unique("once")
    first = raw.post("/v1/jobs", document, Idempotency_Key=f'"{key}"')
    again = raw.post("/v1/jobs", document, Idempotency_Key=key)
    other = raw.post("/v1/jobs", {**document, "name": "other"}, Idempotency_Key=key)
    assert (first.status, again.status, other.status) == (201, 201, 422)
    assert again.body == first.body
    raw.delete(f"/v1/jobs/{first.body['job_id']}")
