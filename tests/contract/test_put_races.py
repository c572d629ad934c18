"""The API over DynamoDB: what many do at once makes one job, and what one is asked twice happens once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from functions.api.backend import Backend
from functions.api.resolving import Handler, build
from shared.adapters.memory import SeededRandomness
from shared.domain.access import Scope, hash_secret
from tests.contract.stores import Stores
from tests.contract.values import make_key
from tests.unit.api.world import JOB, event_of

SHARD_COUNT = 4
SECRET = "secret"
PATH = "/v1/jobs/nightly-report"
_seeds = count()
BODY = {name: value for name, value in JOB.items() if name != "job_id"}


def handler_over(stores: Stores) -> Handler:
    return build(
        Backend(
            jobs=stores.jobs,
            runs=stores.runs,
            entries=stores.entries,
            fleet=stores.fleet,
            access=stores.access,
            clock=stores.clock,
            randomness=SeededRandomness(next(_seeds)),
            shard_count=SHARD_COUNT,
            version="1",
        )
    )


@pytest.fixture
def handler(stores: Stores) -> Handler:
    stores.access.put_key(make_key("a1", scopes=frozenset(Scope), secret_hash=hash_secret(SECRET)))
    return handler_over(stores)


def send(handler: Handler, method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
    sent = {"authorization": f"Bearer crl_a1_{SECRET}", "content-type": "application/json", **headers}
    answer: dict[str, Any] = handler(event_of(method, path, body, query="", headers=sent), None)
    return answer


def entries(stores: Stores) -> list[Any]:
    everything = (stores.entries.announced(shard, since=0, until=2**52) for shard in range(SHARD_COUNT))  # type: ignore[arg-type]
    return [entry.read() for pages in everything for page in pages for entry in page]


def statuses(work: Any, times: int = 20) -> list[int]:
    with ThreadPoolExecutor(times) as threads:
        return sorted(answer["statusCode"] for answer in threads.map(work, range(times)))


def test_twenty_puts_at_once_make_one_job(stores: Stores, handler: Handler) -> None:
    found = statuses(lambda _: send(handler_over(stores), "PUT", PATH, BODY))
    # Those of one millisecond write the very same job, and each may say that it did.
    assert set(found) <= {200, 201}
    assert 201 in found
    job = stores.jobs.get("acme/nightly-report")
    assert job is not None
    assert job.revision == 1
    assert [entry.generation for entry in entries(stores)] == [job.generation]
    assert send(handler, "GET", PATH)["statusCode"] == 200


def test_twenty_creates_at_once_under_one_key_make_one_job(stores: Stores, handler: Handler) -> None:
    body = {**BODY, "schedule": {"in": "PT1H"}}
    key = {"idempotency-key": "once"}
    assert statuses(lambda _: send(handler_over(stores), "POST", "/v1/jobs", body, **key)) == [201] * 20
    assert len(entries(stores)) == 1
    assert send(handler, "POST", "/v1/jobs", {**body, "name": "other"}, **key)["statusCode"] == 422


def test_twenty_requests_to_run_now_under_one_key_make_one_run(stores: Stores, handler: Handler) -> None:
    send(handler, "PUT", PATH, BODY)
    key = {"idempotency-key": "once"}
    assert statuses(lambda _: send(handler_over(stores), "POST", f"{PATH}/runs", {}, **key)) == [202] * 20
    assert len(stores.runs.list_of_job("acme/nightly-report", limit=50).items) == 1
    assert len([entry for entry in entries(stores) if entry.run_id is not None]) == 1


def test_ten_backfills_of_one_range_at_once_plan_each_slot_once(stores: Stores, handler: Handler) -> None:
    send(handler, "PUT", PATH, {**BODY, "schedule": {"cron": "0 * * * *"}})
    body = {"from": "2026-11-26T10:00:00Z", "to": "2026-11-26T14:00:00Z"}
    statuses(lambda _: send(handler_over(stores), "POST", f"{PATH}/backfills", body), 10)
    runs = stores.runs.list_of_job("acme/nightly-report", limit=50).items
    assert sorted(run.run_id[9:11] for run in runs) == ["10", "11", "12", "13"]
    assert len([entry for entry in entries(stores) if entry.run_id is not None]) == 4
