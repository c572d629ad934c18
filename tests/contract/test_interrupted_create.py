"""The API over DynamoDB, whose process dies between any two of its calls of DynamoDB, or after one was carried out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from shared.adapters.aws.client import dynamodb_client
from shared.config import TableNames
from shared.domain.access import Scope, hash_secret
from shared.domain.entry import entry_keys
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.test_put_races import BODY, SECRET, SHARD_COUNT, entries, handler_over, send
from tests.contract.values import make_key
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator

#: More than any of these requests makes.
MANY_CALLS = 40


class Dying:
    """A client from whose call number `at` on nothing is sent, or nothing is answered and later calls are not sent."""

    def __init__(self, client: Any) -> None:
        self.calls, self.at, self.is_after = 0, MANY_CALLS, False
        client.meta.events.register("before-call.dynamodb", self._before)
        client.meta.events.register("after-call.dynamodb", self._after)

    def begin(self, at: int, *, is_after: bool) -> None:
        self.calls, self.at, self.is_after = 0, at, is_after

    def _before(self, **_: object) -> None:
        self.calls += 1
        if self.calls > self.at or (self.calls == self.at and not self.is_after):
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1")

    def _after(self, **_: object) -> None:
        if self.calls == self.at:
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1")


@pytest.fixture
def dying(emulator_endpoint: str, tables: TableNames) -> Iterator[tuple[Stores, Dying]]:
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    stores = dynamo_stores(client, tables)
    stores.access.put_key(make_key("a1", scopes=frozenset(Scope), secret_hash=hash_secret(SECRET)))
    yield stores, Dying(client)
    client.close()


def entry_ids(stores: Stores, job_id: str) -> list[str]:
    return [entry.entry_id for entry in entries(stores) if entry.job_key == f"acme/{job_id}"]


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/jobs"), ("PUT", "/v1/jobs/{}")], ids=["post", "put"])
def test_an_interrupted_create_leaves_both_rows_or_none_and_its_repeat_makes_one_job(
    dying: tuple[Stores, Dying], method: str, path: str, *, is_after: bool
) -> None:
    stores, client = dying
    outcomes = set()
    for at in range(1, MANY_CALLS):
        job_id = f"job-{at}"
        body = BODY | ({"job_id": job_id} if method == "POST" else {})
        request = (method, path.format(job_id), body)
        client.begin(at, is_after=is_after)
        answer = send(handler_over(stores), *request, **{"idempotency-key": job_id})
        was_interrupted = client.calls >= at
        client.begin(MANY_CALLS, is_after=False)

        job = stores.jobs.get(f"acme/{job_id}")
        put = () if job is None else entry_keys(job, shard_count=SHARD_COUNT)
        assert entry_ids(stores, job_id) == [key.entry_id for key in put[:1]], at
        outcomes.add(job is not None)
        again = send(handler_over(stores), *request, **{"idempotency-key": job_id})
        assert again["statusCode"] in {200, 201}, again["body"]
        assert len(entry_ids(stores, job_id)) == 1
        stored = stores.jobs.get(f"acme/{job_id}")
        assert stored is not None
        assert stored.revision == 1
        if not was_interrupted:
            assert answer["statusCode"] == 201
            break
    else:
        pytest.fail("it never ended")
    assert outcomes == {True, False}
