"""The API against the running system: what is asked for over HTTPS happens in tables, nodes and workers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localstack.keys import issue_key
from localstack.receiver import Receiver
from localstack.stack import Stack
from tests.acceptance.raw import RawClient
from tests.acceptance.waiting import RUN, unique, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

ECHO = {"type": "handler", "name": "echo"}
LATER = {"in": "PT1H"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def owner(stack: Stack) -> RawClient:
    """An owner of this file alone, so that what is done to all of an owner's things hurts nobody."""
    return of_owner(stack, f"api-{RUN}")


def of_owner(stack: Stack, owner_id: str) -> RawClient:
    return RawClient(stack.api_url, issue_key(stack.endpoint, stack.outputs["AccessTable"], owner_id=owner_id))


def put(client: RawClient, job_id: str, **members: Any) -> Any:
    answer = client.call("PUT", f"/v1/jobs/{job_id}", {"schedule": LATER, "target": ECHO, **members})
    assert answer.status in {200, 201}, answer.body
    return answer


def ended(client: RawClient, job_id: str, run_id: str) -> dict[str, Any]:
    def look() -> Any:
        run = client.get(f"/v1/jobs/{job_id}/runs/{run_id}").body
        return run if run.get("ended_at") else None

    found: dict[str, Any] = wait_for(look, seconds=30, what=f"run {run_id} of {job_id} ends")
    return found


def test_twenty_puts_at_once_make_one_job(owner: RawClient) -> None:
    job_id = unique("put")
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: put(owner, job_id, schedule={"cron": "0 3 * * *"}), range(20)))
    assert [answer.status for answer in answers].count(201) >= 1
    assert owner.get(f"/v1/jobs/{job_id}").body["revision"] == 1
    again = owner.call("PUT", f"/v1/jobs/{job_id}", {"schedule": LATER, "target": ECHO}, {"If-None-Match": "*"})
    assert again.status == 412


def test_a_batch_creates_what_is_right_and_names_what_is_wrong(owner: RawClient) -> None:
    group = unique("batch")
    right = {"schedule": LATER, "target": ECHO, "group": group}
    body = {"items": [right, {**right, "schedule": {"cron": "x"}}, right]}
    first = owner.post("/v1/jobs/batch", body, Idempotency_Key=unique("key"))
    assert [item["status"] for item in first.body["items"]] == [201, 400, 201]
    # The index that lists them is behind for a moment on AWS.
    shown = wait_for(
        lambda: (items := owner.get(f"/v1/jobs?group={group}").body["items"]) and len(items) == 2 and items,
        seconds=10,
        what="both are listed",
    )
    assert {item["job_id"] for item in shown} == {first.body["items"][0]["job_id"], first.body["items"][2]["job_id"]}
    paused = owner.post("/v1/jobs:pause", {"group": group})
    assert paused.body["changed"] == 2
    cancelled = owner.post("/v1/jobs:cancel", {"group": group})
    assert {item["outcome"] for item in cancelled.body["items"]} == {"cancelled_before_fire"}


def test_a_run_asked_for_now_starts_within_seconds_with_the_payload_it_was_given(
    owner: RawClient, webhook: Receiver
) -> None:
    job_id = unique("now")
    put(owner, job_id, target={"type": "http", "url": f"{webhook.url}/now"}, payload={"by": "schedule"})
    asked = owner.post(f"/v1/jobs/{job_id}/runs", {"payload": {"by": "hand"}})
    assert asked.status == 202
    run = ended(owner, job_id, asked.body["run_id"])
    assert (run["status"], run["kind"]) == ("succeeded", "manual")
    assert [request.body for request in webhook.requests] == [{"by": "hand"}]
    explained = owner.get(f"/v1/jobs/{job_id}/explain?run_id={run['run_id']}").body
    assert (explained["outcome"], explained["drift_ms"]) == ("ran", run["drift_ms"])
    assert owner.get(f"/v1/jobs/{job_id}").body["state"] == "active"


def test_past_slots_are_filled_once(owner: RawClient, webhook: Receiver) -> None:
    job_id = unique("fill")
    put(owner, job_id, schedule={"cron": "0 * * * *"}, target={"type": "http", "url": f"{webhook.url}/fill"})
    now = datetime.now(UTC)
    body = {"from": (now - timedelta(hours=30)).isoformat(), "to": (now - timedelta(hours=27)).isoformat()}
    dry = owner.post(f"/v1/jobs/{job_id}/backfills", {**body, "dry_run": True})
    filled = owner.post(f"/v1/jobs/{job_id}/backfills", body)
    assert (dry.status, filled.status, filled.body["items"]) == (200, 202, dry.body["items"])
    runs = [ended(owner, job_id, item["run_id"]) for item in filled.body["items"]]
    assert {(run["status"], run["kind"]) for run in runs} == {("succeeded", "backfill")}
    slots = sorted(request.headers["carillon-slot"] for request in webhook.requests)
    assert slots == [item["slot"] for item in filled.body["items"]]
    assert owner.post(f"/v1/jobs/{job_id}/backfills", body).body["planned"] == 0


def test_a_key_opens_the_api_until_it_is_revoked(stack: Stack, owner: RawClient) -> None:
    made = owner.post("/v1/keys", {"scopes": ["read"], "name": "acceptance"}).body
    reader = RawClient(stack.api_url, made["key"])
    assert reader.get("/v1/jobs").status == 200
    assert reader.post("/v1/jobs", {"schedule": LATER, "target": ECHO}).status == 403
    assert owner.call("DELETE", f"/v1/keys/{made['key_id']}").body["revoked_at"]
    # Whoever has seen it may believe it for a minute.
    wait_for(lambda: reader.get("/v1/jobs").status == 401, seconds=75, what="the revoked key is refused")


def test_owners_see_nothing_of_each_other(stack: Stack, owner: RawClient) -> None:
    job_id = unique("mine")
    put(owner, job_id)
    stranger = of_owner(stack, f"stranger-{RUN}")
    for path in (f"/v1/jobs/{job_id}", f"/v1/jobs/{job_id}/runs", f"/v1/jobs/{job_id}/explain"):
        assert stranger.get(path).status == 404
    assert stranger.get("/v1/jobs").body["items"] == []
    # Both have every scope here, and so scope admin.
    shown = stranger.get(f"/v1/jobs/{job_id}?owner_id=api-{RUN}")
    assert (shown.status, shown.body["job_id"]) == (200, job_id)


@pytest.fixture
def braked(owner: RawClient) -> Iterator[None]:
    assert owner.call("PUT", "/v1/fleet/firing", {"on": False}).body == {"on": False}
    try:
        yield
    finally:
        owner.call("PUT", "/v1/fleet/firing", {"on": True})


@pytest.mark.usefixtures("braked")
def test_with_the_brake_on_nothing_fires_and_explain_says_so(owner: RawClient) -> None:
    assert owner.get("/v1/fleet").body["firing"] is False
    wait_until = datetime.now(UTC) + timedelta(seconds=3)
    wait_for(lambda: datetime.now(UTC) > wait_until, seconds=5, what="every node obeys")
    job_id = unique("braked")
    put(owner, job_id, schedule={"in": "PT1S"})
    wait_until = datetime.now(UTC) + timedelta(seconds=4)
    wait_for(lambda: datetime.now(UTC) > wait_until, seconds=6, what="its time passes")
    explained = owner.get(f"/v1/jobs/{job_id}/explain").body
    assert (explained["outcome"], explained["reason"], explained["run_id"]) == ("waiting", "brake", None)
    owner.call("PUT", "/v1/fleet/firing", {"on": True})
    wait_for(lambda: owner.get(f"/v1/jobs/{job_id}").body["state"] == "completed", seconds=20, what="it runs after all")


def test_the_fleet_shows_who_fires_what(owner: RawClient) -> None:
    fleet = owner.get("/v1/fleet").body
    assert fleet["firing"] is True
    assert len(fleet["nodes"]) >= 1
    nodes = {node["node_id"] for node in fleet["nodes"]}
    assert {shard["owner"] for shard in fleet["shards"]} <= nodes


def test_what_is_purged_is_gone(owner: RawClient) -> None:
    job_id = unique("purge")
    put(owner, job_id, name="secret", schedule={"in": "PT1H"}, payload="secret")
    run_id = owner.post(f"/v1/jobs/{job_id}/runs", {}).body["run_id"]
    ended(owner, job_id, run_id)
    purged = owner.call("DELETE", f"/v1/jobs/{job_id}?purge=true").body
    assert purged["purge"] == {"erased_runs": 1, "is_done": True}
    assert owner.get(f"/v1/jobs/{job_id}/runs/{run_id}").status == 404
    assert "secret" not in str(owner.get(f"/v1/jobs/{job_id}").body)


def test_an_owner_is_erased_until_nothing_is_left(stack: Stack, owner: RawClient) -> None:
    doomed = of_owner(stack, f"doomed-{RUN}")
    for _ in range(3):
        put(doomed, unique("doomed"), payload="secret")
    path = f"/v1/owners/doomed-{RUN}/erase"
    first = owner.post(path, {}).body
    assert (first["is_done"], first["keys"]) == (True, 1)
    shown = owner.get(f"/v1/jobs?owner_id=doomed-{RUN}").body["items"]
    assert {job["state"] for job in shown} == {"cancelled"}
    assert "secret" not in str(shown)
    assert owner.post(path, {}).body["jobs"] == 0


def test_health_and_the_openapi_document_are_open(stack: Stack) -> None:
    anybody = RawClient(stack.api_url, None)
    assert anybody.get("/v1/health").body["status"] == "ok"
    document = anybody.get("/v1/openapi.json")
    assert (document.status, document.body["openapi"]) == (200, "3.1.0")
