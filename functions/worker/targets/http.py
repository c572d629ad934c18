"""A webhook: the payload as JSON, to a public address, signed and with the headers of Standard Webhooks.

Nothing is repeated, and each request has a connection of its own: what a receiver sends late, or too much of, reaches
no other run. Redirects are followed only as often as the job says, and each is judged like the first address.

While a receiver works no thread waits for it: what it answers is looked at by whoever has time then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from http import HTTPStatus

import carillon
from carillon.fencing import run_headers
from functions.worker.targets import Call, Later, Outcome, failed, timed_out, words_of
from functions.worker.targets.gate import Gate
from functions.worker.targets.guard import NotConnected, RefusedAddress
from functions.worker.targets.http_answer import outcome_of
from functions.worker.targets.http_client import HttpClient, origin_of, target_of
from functions.worker.targets.http_exchange import Answer, AnsweredLate, Headers, NoAnswer, Request
from functions.worker.targets.http_request import (
    REDIRECTS,
    WebhookRequest,
    first_request,
    headers_of_connection,
    headers_of_job,
    merged,
    redirected,
)
from functions.worker.targets.lambda_function import role_of
from functions.worker.targets.pausing import Pauses
from functions.worker.targets.secrets import SecretRef, Secrets
from functions.worker.targets.signatures import Signatures
from functions.worker.targets.wires import TlsRefused
from shared.domain.durations import parse_duration
from shared.domain.errors import StoreError
from shared.domain.grants import SECRET
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.run import RunError
from shared.domain.targets.auth import UnusableSecret, header_of
from shared.domain.targets.http import DEFAULT_CONNECT_TIMEOUT
from shared.domain.targets.successes import DEFAULT_SUCCESS, is_success
from shared.domain.targets.urls import host_of
from shared.domain.traces import trace_headers
from shared.ports import Clock

#: By these a receiver says that it does not know the secret.
_REFUSES_SECRET = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
#: For what a refusal says besides its status.
_SECONDS_FOR_A_REFUSAL = 1.0
#: By the word for what went wrong.
_FAULTS: Mapping[type[Exception], str] = {
    RefusedAddress: "refused_address",
    NotConnected: "connect",
    TlsRefused: "tls",
    NoAnswer: "outcome_unknown",
}


class _NotSent(Exception):
    """Something stands against sending, or against following a redirect."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()


@dataclass(frozen=True, slots=True)
class _Sending:
    """A request that is to be sent, and what there is for those that follow it."""

    call: Call
    request: WebhookRequest
    secret: tuple[str, str] | None
    #: In monotonic seconds.
    until: float
    redirects_left: int


class HttpTarget:
    def __init__(
        self,
        client: HttpClient,
        clock: Clock,
        *,
        gate: Gate,
        secrets: Secrets,
        signatures: Signatures,
        pauses: Pauses,
    ) -> None:
        self._client = client
        self._clock = clock
        self._gate = gate
        self._secrets = secrets
        self._signatures = signatures
        self._pauses = pauses

    def call(self, call: Call) -> Outcome | Later:
        return self._told(call, lambda: self._begun(call))

    def _told(self, call: Call, act: Callable[[], Outcome | Later]) -> Outcome | Later:
        try:
            return act()
        except _NotSent as reason:
            return reason.outcome
        except AnsweredLate as late:
            outcome = timed_out(f"{host_of(call.target['url'])} did not answer within {call.timeout_ms} ms")
            return replace(outcome, http_status=late.status)
        except tuple(_FAULTS) as fault:
            return failed(_FAULTS[type(fault)], str(fault))

    def _begun(self, call: Call) -> Later:
        until = self._clock.monotonic() + call.timeout_ms / SECOND
        request, redirects = first_request(call), call.target.get("max_redirects", 0)
        return self._sent(_Sending(call, request, self._secret_header(call), until, redirects))

    def _sent(self, sending: _Sending) -> Later:
        answer = self._send(sending)
        return Later(answer, lambda: self._told(sending.call, lambda: self._answered(sending, answer.result())))

    def _answered(self, sending: _Sending, answer: Answer) -> Outcome | Later:
        call, request, left = sending.call, sending.request, sending.redirects_left
        if answer.status not in REDIRECTS or not left:
            return self._outcome_of(call, request, answer)
        return self._sent(replace(sending, request=self._redirected(call, request, answer), redirects_left=left - 1))

    def _redirected(self, call: Call, request: WebhookRequest, answer: Answer) -> WebhookRequest:
        """Raises _NotSent; its address is judged when it is connected to."""
        following = redirected(request, answer.status, answer.header(b"location"))
        if isinstance(following, str):
            message = f"{host_of(request.url)} answered {answer.status}: {following}"
            raise _NotSent(replace(failed("http_3xx", message, is_permanent=True), http_status=answer.status))
        try:
            refusal = self._gate.refusal_of_host(call, host_of(following.url))
        except StoreError as error:
            raise _NotSent(failed("refused", f"the owner's grants could not be read: {words_of(error)}")) from error
        if refusal is not None:
            raise _NotSent(failed("not_granted", refusal, is_permanent=True))
        return following

    def _outcome_of(self, call: Call, request: WebhookRequest, answer: Answer) -> Outcome:
        host = host_of(request.url)
        success = call.target.get("success", DEFAULT_SUCCESS)
        outcome = outcome_of(answer, host, success=success, now=self._clock.now())
        if outcome.error is None:
            return outcome
        if answer.status in _REFUSES_SECRET and call.target.get("auth") is not None:
            self._secrets.forget(_secret_of(call))
        message = outcome.error.message
        if answer.status == HTTPStatus.GONE:
            reason = f"{host} answered 410: it wants no more calls"
            is_paused = self._pauses.pause(call.key.job_key, call.target, reason=reason)
            message += "; the job is paused" if is_paused else "; the job could not be paused"
        elif answer.status in REDIRECTS:
            limit = call.target.get("max_redirects", 0)
            message += f"; more redirects than {limit} are not followed" if limit else "; redirects are not followed"
        return replace(outcome, error=RunError(outcome.error.type, message))

    def _send(self, sending: _Sending) -> Future[Answer]:
        call, request = sending.call, sending.request
        headers = self._headers(call, request, sending.secret)
        seconds = sending.until - self._clock.monotonic()
        if seconds <= 0:
            raise _NotSent(timed_out(f"{host_of(request.url)} was not reached within {call.timeout_ms} ms"))
        return self._client.send(
            origin_of(request.url),
            Request(
                method=request.method,
                target=target_of(request.url),
                headers=headers,
                body=(request.body or "").encode(),
                seconds_for_body=_seconds_for_body(call, is_followed=sending.redirects_left > 0),
            ),
            seconds=seconds,
            connect_seconds=parse_duration(call.target.get("connect_timeout", DEFAULT_CONNECT_TIMEOUT)) / SECOND,
        )

    def _headers(self, call: Call, request: WebhookRequest, secret: tuple[str, str] | None) -> Headers:
        webhook_id, now = f"{call.job_id}_{call.run_id}", self._clock.now()
        away = not request.is_at_origin
        return merged(
            # The job may ask for an encoding; the answer is decoded either way.
            {"Accept-Encoding": "identity", "User-Agent": f"Carillon/{carillon.__version__}"},
            trace_headers(call.trace),
            headers_of_job(call, request),
            {} if secret is None or away else {secret[0]: secret[1]},
            {"webhook-id": webhook_id, "webhook-timestamp": str(now // SECOND)},
            run_headers(slot=to_rfc3339(call.slot), attempt=call.attempt, token=call.token),
            # The owner's receivers share its keys, and this host was chosen by one of them.
            {} if away else self._signature(call, webhook_id, now, request.body or ""),
            headers_of_connection(request),
        )

    def _signature(self, call: Call, webhook_id: str, now: Instant, body: str) -> dict[str, str]:
        try:
            signature = self._signatures.of(call.owner_id, webhook_id, now, body)
        except StoreError as error:
            raise _NotSent(
                failed("refused", f"the owner's signing keys could not be read: {words_of(error)}")
            ) from error
        return {} if signature is None else {"webhook-signature": signature}

    def _secret_header(self, call: Call) -> tuple[str, str] | None:
        """Raises _NotSent."""
        auth = call.target.get("auth")
        if auth is None:
            return None
        ref = _secret_of(call)
        try:
            return header_of(auth, self._secrets.text_of(ref))
        except StoreError as error:
            raise _NotSent(failed("refused", f"the secret could not be read: {words_of(error)}")) from error
        except UnusableSecret as error:
            self._secrets.forget(ref)
            raise _NotSent(failed("unusable_secret", str(error), is_permanent=True)) from error


def _secret_of(call: Call) -> SecretRef:
    return SecretRef(call.target["auth"]["secret_ref"], role_of(call, SECRET))


def _seconds_for_body(call: Call, *, is_followed: bool) -> Callable[[int], float | None]:
    """How long the body of an answer is waited for: of one whose status says all, not until the deadline."""
    success = call.target.get("success", DEFAULT_SUCCESS)

    def seconds(status: int) -> float | None:
        if is_followed and status in REDIRECTS:
            return 0
        return None if is_success(success, status) else _SECONDS_FOR_A_REFUSAL

    return seconds
