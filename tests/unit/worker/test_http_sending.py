"""What a webhook sends: placeholders, bodies, secrets and signatures."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from shared.adapters.system import SystemClock
from shared.domain.errors import OutcomeUnknown, WriteRefused
from shared.domain.grants import SECRET
from shared.domain.run import RunStatus
from shared.domain.signing import mint_signing_key
from tests.contract.values import make_signing_key
from tests.unit.worker.receiver import Received, Receiver, receiving
from tests.unit.worker.webhooks import OWNER, Webhooks, send, webhooks_for

SECRET_ARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:hook-AbCdEf"
AUTH = {"secret_ref": SECRET_ARN, "scheme": "bearer"}
BODIES: list[object] = [{"text": "täglich 🚀", "n": 1.0}, None, "plain", []]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def webhooks(receiver: Receiver) -> Webhooks:
    """By the real clock, which verifiers go by."""
    return webhooks_for(receiver, clock=SystemClock())


def the_only(receiver: Receiver) -> Received:
    (request,) = receiver.requests
    return request


def test_placeholders_are_filled_in_path_query_headers_and_body(webhooks: Webhooks, receiver: Receiver) -> None:
    url = f"http://127.0.0.1:{receiver.port}/{{{{job_id}}}}/at/{{{{slot}}}}?run={{{{ run_id }}}}"
    headers = {"X-Attempt": "{{attempt}} of many"}

    send(webhooks.target, url, headers=headers, body="token {{fencing_token}} of {{slot}}")

    request = the_only(receiver)
    assert request.path == "/nightly/at/2026-11-27T01%3A30%3A00.000Z?run=20261127T013000000Z"
    assert request.headers["X-Attempt"] == "2 of many"
    assert request.body == b"token 3 of 2026-11-27T01:30:00.000Z"
    assert request.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_texts_are_sent_as_they_are_where_the_target_says_so(webhooks: Webhooks, receiver: Receiver) -> None:
    send(
        webhooks.target,
        receiver.url,
        headers={"X-Template": "{{run_id}}"},
        body="{{{{raw}} {{slot}} {{name}}",
        templates=False,
    )

    request = the_only(receiver)
    assert (request.headers["X-Template"], request.body) == ("{{run_id}}", b"{{{{raw}} {{slot}} {{name}}")


def test_a_body_keeps_the_content_type_that_the_job_gives(webhooks: Webhooks, receiver: Receiver) -> None:
    send(webhooks.target, receiver.url, headers={"content-type": "application/xml"}, body="<run/>")

    request = the_only(receiver)
    assert [value for name, value in request.headers.items() if name.lower() == "content-type"] == ["application/xml"]


def test_a_request_without_a_body_says_no_content_type(webhooks: Webhooks, receiver: Receiver) -> None:
    send(webhooks.target, receiver.url, method="GET", payload={"n": 1}, body="never sent")

    request = the_only(receiver)
    assert (request.body, "Content-Type" in request.headers) == (b"", False)


@pytest.mark.parametrize("payload", BODIES)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_each_live_key_verifies_the_signature(
    webhooks: Webhooks, receiver: Receiver, payload: object, method: str
) -> None:
    clock = SystemClock()
    keys = [
        mint_signing_key(owner_id=OWNER, created_by="k", now=clock.now(), randomness=bytes([number] * 38))
        for number in (1, 2)
    ]
    for key in keys:
        webhooks.access.put_signing_key(key)

    send(webhooks.target, receiver.url, payload=payload, method=method)

    request = the_only(receiver)
    for key in keys:
        Webhook(key.secret).verify(request.body, request.headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + "QUJD" * 8).verify(request.body, request.headers, json_parse=False)
    with pytest.raises(WebhookVerificationError):
        Webhook(keys[0].secret).verify(request.body + b" ", request.headers, json_parse=False)


def test_the_id_stays_and_the_time_is_that_of_sending(receiver: Receiver) -> None:
    webhooks = webhooks_for(receiver)
    webhooks.access.put_signing_key(make_signing_key(owner_id=OWNER, secret="whsec_QUJD"))

    send(webhooks.target, receiver.url)
    webhooks.clock.advance(5_000)  # type: ignore[attr-defined]
    send(webhooks.target, receiver.url)

    first, second = (request.headers for request in receiver.requests)
    assert first["webhook-id"] == second["webhook-id"] == "nightly_20261127T013000000Z"
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 5
    assert first["webhook-signature"] != second["webhook-signature"]


def test_without_a_key_nothing_is_signed(webhooks: Webhooks, receiver: Receiver) -> None:
    webhooks.access.put_signing_key(make_signing_key(owner_id="another", secret="whsec_QUJD"))

    send(webhooks.target, receiver.url)

    assert "webhook-signature" not in the_only(receiver).headers


def test_a_secret_is_carried_and_read_once(webhooks: Webhooks, receiver: Receiver) -> None:
    webhooks.api.answer = {"SecretString": "t0ken"}

    for _ in range(3):
        send(webhooks.target, receiver.url, auth=AUTH, roles={SECRET: "arn:role"})

    assert {request.headers["Authorization"] for request in receiver.requests} == {"Bearer t0ken"}
    [call] = webhooks.api.calls
    assert (call.client, call.operation, call.region) == ("secretsmanager", "GetSecretValue", "eu-west-1")
    assert call.parameters == {"SecretId": SECRET_ARN}
    assert call.role is not None
    assert (call.role.role_arn, call.role.external_id) == ("arn:role", OWNER)


def test_a_secret_that_the_receiver_refuses_is_read_again_for_the_next_try(
    webhooks: Webhooks, receiver: Receiver
) -> None:
    webhooks.api.answer = {"SecretString": "old"}
    receiver.status = 401
    assert send(webhooks.target, receiver.url, auth=AUTH).status is RunStatus.FAILED

    webhooks.api.answer = {"SecretString": "new"}
    send(webhooks.target, receiver.url, auth=AUTH)

    assert [request.headers["Authorization"] for request in receiver.requests] == ["Bearer old", "Bearer new"]


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [
        ({"SecretString": "s3cret\nline"}, "unusable_secret"),
        ({"SecretBinary": b"s3cret"}, "refused"),
        (WriteRefused("secretsmanager.GetSecretValue", "AccessDeniedException"), "refused"),
        (OutcomeUnknown("secretsmanager.GetSecretValue", "no answer"), "refused"),
    ],
)
def test_without_its_secret_nothing_is_sent(
    webhooks: Webhooks, receiver: Receiver, answer: object, error_type: str
) -> None:
    webhooks.api.answer = answer  # type: ignore[assignment]

    outcome = send(webhooks.target, receiver.url, auth=AUTH)

    assert outcome.error is not None
    assert outcome.error.type == error_type
    assert "s3cret" not in json.dumps([outcome.error.message, outcome.output])
    assert receiver.connections == 0
