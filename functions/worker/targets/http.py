"""A webhook: the payload as JSON, to a public address, signed and with the headers of Standard Webhooks.

Nothing is repeated, and each request has a connection of its own: what a receiver sends late, or too much of, reaches
no other run. Redirects are followed only as often as the job says, and each is judged like the first address.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from urllib3 import BaseHTTPResponse, HTTPHeaderDict, PoolManager, Timeout
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

import carillon
from carillon.fencing import run_headers
from functions.worker.targets import Call, Outcome, failed, timed_out
from functions.worker.targets.gate import Gate
from functions.worker.targets.guarded_pool import RefusedAddress
from functions.worker.targets.http_answer import outcome_of
from functions.worker.targets.http_request import REDIRECTS, WebhookRequest, first_request, own_headers, redirected
from functions.worker.targets.lambda_function import role_of
from functions.worker.targets.pausing import Pauses
from functions.worker.targets.secrets import SecretRef, Secrets
from functions.worker.targets.signatures import Signatures
from shared.domain.durations import parse_duration
from shared.domain.errors import StoreError
from shared.domain.grants import SECRET
from shared.domain.instants import SECOND, to_rfc3339
from shared.domain.run import RunError
from shared.domain.targets.auth import UnusableSecret, header_of
from shared.domain.targets.http import DEFAULT_CONNECT_TIMEOUT
from shared.domain.targets.successes import DEFAULT_SUCCESS
from shared.domain.targets.urls import host_of
from shared.domain.traces import trace_headers
from shared.ports import Clock

#: By these a receiver says that it does not know the secret.
_REFUSES_SECRET = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_NEVER_SENT = (NewConnectionError, ConnectTimeoutError, NameResolutionError, SSLError)


class _NotSent(Exception):
    """Something stands against sending, or against following a redirect."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__()


class HttpTarget:
    def __init__(
        self,
        connections: PoolManager,
        clock: Clock,
        *,
        gate: Gate,
        secrets: Secrets,
        signatures: Signatures,
        pauses: Pauses,
    ) -> None:
        self._connections = connections
        self._clock = clock
        self._gate = gate
        self._secrets = secrets
        self._signatures = signatures
        self._pauses = pauses

    def call(self, call: Call) -> Outcome:
        host = host_of(call.target["url"])
        try:
            return self._call(call)
        except _NotSent as reason:
            return reason.outcome
        except RefusedAddress as refused:
            return failed("refused_address", str(refused), is_permanent=True)
        except ReadTimeoutError:
            return timed_out(f"{host} did not answer within {call.timeout_ms} ms")
        except HTTPError as error:
            # Its text may quote the URL, whose query may be a secret.
            what = f"{host}: {type(error).__name__}{_cause_of(error)}"
            return failed("connect", what) if isinstance(error, _NEVER_SENT) else failed("outcome_unknown", what)

    def _call(self, call: Call) -> Outcome:
        until = self._clock.monotonic() + call.timeout_ms / SECOND
        request = first_request(call)
        secret = self._secret_header(call)
        left = call.target.get("max_redirects", 0)
        while True:
            response = self._send(call, request, secret, until)
            if response.status not in REDIRECTS or not left:
                return self._outcome_of(call, request, response)
            left -= 1
            request = self._redirected(call, request, response)

    def _redirected(self, call: Call, request: WebhookRequest, response: BaseHTTPResponse) -> WebhookRequest:
        """Raises _NotSent; its address is judged when it is connected to."""
        response.close()
        following = redirected(request, response.status, response.headers.get("Location"))
        if isinstance(following, str):
            message = f"{host_of(request.url)} answered {response.status}: {following}"
            raise _NotSent(failed("http_3xx", message, is_permanent=True))
        try:
            refusal = self._gate.refusal_of_host(call, host_of(following.url))
        except StoreError as error:
            raise _NotSent(failed("refused", f"the owner's grants could not be read: {error}")) from error
        if refusal is not None:
            raise _NotSent(failed("not_granted", refusal, is_permanent=True))
        return following

    def _outcome_of(self, call: Call, request: WebhookRequest, response: BaseHTTPResponse) -> Outcome:
        host = host_of(request.url)
        success = call.target.get("success", DEFAULT_SUCCESS)
        outcome = outcome_of(response, host, success=success, now=self._clock.now())
        if outcome.error is None:
            return outcome
        if response.status in _REFUSES_SECRET and call.target.get("auth") is not None:
            self._secrets.forget(_secret_of(call))
        message = outcome.error.message
        if response.status == HTTPStatus.GONE:
            reason = f"{host} answered 410: it wants no more calls"
            is_paused = self._pauses.pause(call.key.job_key, call.target, reason=reason)
            message += "; the job is paused" if is_paused else "; the job could not be paused"
        elif response.status in REDIRECTS:
            limit = call.target.get("max_redirects", 0)
            message += f"; more redirects than {limit} are not followed" if limit else "; redirects are not followed"
        return replace(outcome, error=RunError(outcome.error.type, message))

    def _send(
        self, call: Call, request: WebhookRequest, secret: tuple[str, str] | None, until: float
    ) -> BaseHTTPResponse:
        headers = self._headers(call, request, secret)
        total = until - self._clock.monotonic()
        if total <= 0:
            raise _NotSent(timed_out(f"{host_of(request.url)} was not reached within {call.timeout_ms} ms"))
        connect = parse_duration(call.target.get("connect_timeout", DEFAULT_CONNECT_TIMEOUT)) / SECOND
        return self._connections.request(
            request.method,
            request.url,
            body=None if request.body is None else request.body.encode(),
            headers=headers,
            timeout=Timeout(total=total, connect=min(connect, total)),
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
        )

    def _headers(self, call: Call, request: WebhookRequest, secret: tuple[str, str] | None) -> HTTPHeaderDict:
        headers = HTTPHeaderDict({"User-Agent": f"Carillon/{carillon.__version__}"})
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        for name, value in (trace_headers(call.trace) | own_headers(call)).items():
            headers[name] = value
        if secret is not None and request.is_at_origin:
            headers[secret[0]] = secret[1]
        webhook_id, now = f"{call.job_id}_{call.run_id}", self._clock.now()
        headers["webhook-id"] = webhook_id
        headers["webhook-timestamp"] = str(now // SECOND)
        for name, value in run_headers(slot=to_rfc3339(call.slot), attempt=call.attempt, token=call.token).items():
            headers[name] = value
        if not request.is_at_origin:
            # The owner's receivers share its keys, and this host was chosen by one of them.
            return headers
        try:
            signature = self._signatures.of(call.owner_id, webhook_id, now, request.body or "")
        except StoreError as error:
            raise _NotSent(failed("refused", f"the owner's signing keys could not be read: {error}")) from error
        if signature is not None:
            headers["webhook-signature"] = signature
        return headers

    def _secret_header(self, call: Call) -> tuple[str, str] | None:
        """Raises _NotSent."""
        auth = call.target.get("auth")
        if auth is None:
            return None
        ref = _secret_of(call)
        try:
            return header_of(auth, self._secrets.text_of(ref))
        except StoreError as error:
            raise _NotSent(failed("refused", f"the secret could not be read: {error}")) from error
        except UnusableSecret as error:
            self._secrets.forget(ref)
            raise _NotSent(failed("unusable_secret", str(error), is_permanent=True)) from error


def _secret_of(call: Call) -> SecretRef:
    return SecretRef(call.target["auth"]["secret_ref"], role_of(call, SECRET))


def _cause_of(error: HTTPError) -> str:
    """The innermost reason, such as `ConnectionRefusedError` or a certificate's fault."""
    cause: BaseException = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    return "" if cause is error else f" ({type(cause).__name__})"
