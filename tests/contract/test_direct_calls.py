"""A client of boto3 with direct calls in it answers, and fails, as the client alone does."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, IncompleteReadError

from shared.adapters.aws.client import dynamodb_client
from shared.adapters.aws.direct import directly
from tests.contract.test_direct_batches import Answering
from tests.emulator import aws_environment

ROW = '{"Responses": {"t": [{"k": {"S": "a"}, "n": {"N": "1"}}]}, "UnprocessedKeys": {}}'
ASKED: dict[str, Any] = {"RequestItems": {"t": {"Keys": [{"k": {"S": "a"}}], "ConsistentRead": True}}}


@contextmanager
def client_at(endpoint: str) -> Iterator[Any]:
    with aws_environment(endpoint):
        client = directly(dynamodb_client(), "batch_get_item")
    yield client
    client.close()


def sum_of(body: str) -> dict[str, str]:
    return {"x-amz-crc32": str(zlib.crc32(body.encode()))}


def test_a_direct_call_is_asked_and_answered_as_that_of_the_client() -> None:
    answering = Answering(body=ROW, headers=sum_of(ROW))
    with answering.served() as endpoint, client_at(endpoint) as client:
        direct = client.batch_get_item(**ASKED)
        usual = client._client.batch_get_item(**ASKED)
    first, second = answering.asked
    assert direct == {name: value for name, value in usual.items() if name != "ResponseMetadata"}
    assert first[1] == second[1]
    for name in ("X-Amz-Target", "Content-Type"):
        assert first[0][name] == second[0][name]


@pytest.mark.parametrize(
    ("answering", "code"),
    [
        (Answering(400, '{"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException"}'), "ThrottlingException"),
        (Answering(400, '{"__type": "x#ValidationException", "message": "no"}'), "ValidationException"),
        (Answering(500, '{"__type": "x#InternalServerError"}'), "InternalServerError"),
    ],
    ids=["throttled", "refused", "broken"],
)
def test_an_error_has_the_code_that_botocore_gives_it(answering: Answering, code: str) -> None:
    with answering.served() as endpoint, client_at(endpoint) as client:
        codes = []
        for call in (client.batch_get_item, client._client.batch_get_item):
            with pytest.raises(ClientError) as raised:
                call(**ASKED)
            codes.append(raised.value.response["Error"]["Code"])
    assert codes == [code, code]


@pytest.mark.parametrize(
    "answering",
    [Answering(body=""), Answering(body=ROW, headers=sum_of(ROW[:-1]))],
    ids=["empty", "another checksum"],
)
def test_an_answer_that_is_not_whole_is_an_error(answering: Answering) -> None:
    with answering.served() as endpoint, client_at(endpoint) as client:
        for call in (client.batch_get_item, client._client.batch_get_item):
            with pytest.raises(IncompleteReadError):
                call(**ASKED)


def test_what_is_not_named_is_the_clients_own() -> None:
    with client_at("http://127.0.0.1:9") as client:
        assert client.get_item == client._client.get_item
        assert client.batch_get_item != client._client.batch_get_item


def test_behind_a_proxy_the_client_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with aws_environment("http://somewhere.example:8000"):
        client = dynamodb_client()
        assert directly(client, "batch_get_item") is client
        client.close()
