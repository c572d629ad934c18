"""The main job, end to end: accepted over HTTPS, fired on time, run, and shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from localstack import demo
from localstack.client import Client
from localstack.receiver import Receiver
from tests.acceptance.waiting import RUN, in_seconds, moment, unique, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

ECHO = {"type": "handler", "name": "echo"}


def create(client: Client, **document: Any) -> dict[str, Any]:
    answer = client.post("/v1/jobs", {"job_id": unique("main"), "target": ECHO, **document})
    assert answer.status == 201, answer.body
    created: dict[str, Any] = answer.body
    return created


def ended_run(client: Client, job_id: str) -> dict[str, Any]:
    return wait_for(
        lambda: next((run for run in client.runs(job_id) if run["ended_at"] is not None), None),
        seconds=20,
        what=f"a run of {job_id} ends",
    )


def test_the_demo_keeps_its_promises(client: Client, webhook: Receiver) -> None:
    assert demo.show(client, webhook, suffix=RUN) == 0


def test_a_job_created_for_now_starts_within_three_seconds(client: Client) -> None:
    job = create(client, schedule={"at": in_seconds(0)})
    run = ended_run(client, job["job_id"])
    assert moment(run["started_at"]) - moment(job["created_at"]) <= timedelta(seconds=3)


def test_nothing_starts_before_its_instant(client: Client) -> None:
    jobs = [create(client, schedule={"at": in_seconds(4 + number / 10)}) for number in range(10)]
    runs = [ended_run(client, job["job_id"]) for job in jobs]
    assert all(moment(run["started_at"]) >= moment(run["fire_at"]) for run in runs)
    assert all(run["drift_ms"]["total"] == sum(run["drift_ms"].values()) - run["drift_ms"]["total"] for run in runs)


def test_a_job_deleted_before_it_fires_never_runs(client: Client) -> None:
    doomed = create(client, schedule={"at": in_seconds(4)})
    marker = create(client, schedule={"at": in_seconds(7)})
    answer = client.delete(f"/v1/jobs/{doomed['job_id']}")
    assert answer.body == {"outcome": "cancelled_before_fire", "run_ids": []}
    ended_run(client, marker["job_id"])
    assert [run["status"] for run in client.runs(doomed["job_id"])] in ([], ["cancelled"])
    assert client.delete(f"/v1/jobs/{doomed['job_id']}").body == answer.body


def test_a_one_time_job_is_completed_after_its_run(client: Client) -> None:
    job = create(client, schedule={"in": "PT2S"}, payload={"n": 1})
    run = ended_run(client, job["job_id"])
    assert (run["status"], run["attempt"], run["fencing_token"]) == ("succeeded", 1, 1)
    shown = wait_for(
        lambda: (body := client.get(f"/v1/jobs/{job['job_id']}").body)["state"] == "completed" and body,
        seconds=5,
        what="the job is completed",
    )
    assert shown["last_run"] == {"run_id": run["run_id"], "status": "succeeded"}
    assert shown["next_slots"] == []


def test_a_failing_handler_ends_failed_with_its_error(client: Client) -> None:
    job = create(client, schedule={"in": "PT2S"}, target={"type": "handler", "name": "fail"})
    run = ended_run(client, job["job_id"])
    assert run["status"] == "failed"
    assert run["error"]["message"]
    assert [attempt["attempt"] for attempt in run["attempts"]] == [1]


def test_a_webhook_carries_the_headers_of_its_run(client: Client, webhook: Receiver) -> None:
    payload = {"text": "日本語 🚀", "empty": "", "nested": [1, 2.5, None]}
    job = create(
        client, schedule={"in": "PT2S"}, target={"type": "http", "url": f"{webhook.url}/hook"}, payload=payload
    )
    run = ended_run(client, job["job_id"])
    (received,) = webhook.requests
    assert received.body == payload
    assert received.headers["webhook-id"] == f"{job['job_id']}_{run['run_id']}"
    assert received.headers["carillon-slot"] == run["slot"]
    assert received.headers["carillon-attempt"] == "1"
    assert received.headers["carillon-fencing-token"] == str(run["fencing_token"])


def test_an_internal_address_is_no_target(client: Client) -> None:
    target = {"type": "http", "url": "http://169.254.170.2/v2/credentials"}
    answer = client.post("/v1/jobs", {"schedule": {"in": "PT2S"}, "target": target})
    assert answer.status == 400
    assert answer.body["errors"][0]["pointer"] == "#/target/url"


def test_a_repeated_create_with_one_idempotency_key_makes_one_job(client: Client) -> None:
    document = {"schedule": {"in": "PT1H"}, "target": ECHO}
    key = unique("once")
    first = client.post("/v1/jobs", document, Idempotency_Key=f'"{key}"')
    again = client.post("/v1/jobs", document, Idempotency_Key=key)
    other = client.post("/v1/jobs", {**document, "name": "other"}, Idempotency_Key=key)
    assert (first.status, again.status, other.status) == (201, 201, 422)
    assert again.body == first.body
    client.delete(f"/v1/jobs/{first.body['job_id']}")
