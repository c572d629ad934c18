"""A webhook: the payload as JSON, to a public address, with the headers of Standard Webhooks.

Redirects are not followed, and nothing is repeated, except that a kept connection which the other side had closed is
replaced once.
"""

from __future__ import annotations

import json
from http import HTTPStatus

from urllib3 import BaseHTTPResponse, HTTPHeaderDict, PoolManager, Timeout
from urllib3.exceptions import HTTPError, ProtocolError, ReadTimeoutError
from urllib3.util import parse_url

import carillon
from functions.worker.targets import Call, Outcome, failed, succeeded, timed_out
from functions.worker.targets.guarded_pool import RefusedAddress, StaleConnection
from shared.domain.instants import SECOND, to_rfc3339
from shared.domain.limits import MAX_OUTPUT_BYTES
from shared.ports import Clock

CONNECT_TIMEOUT_SECONDS = 5.0
_WITHOUT_BODY = frozenset({"GET", "HEAD"})


class HttpTarget:
    def __init__(self, connections: PoolManager, clock: Clock) -> None:
        self._connections = connections
        self._clock = clock

    def call(self, call: Call) -> Outcome:
        host = parse_url(call.target["url"]).host
        try:
            return _outcome_of(self._send(call), host)
        except RefusedAddress as refused:
            return failed("refused_address", str(refused))
        except ReadTimeoutError:
            return timed_out(f"{host} did not answer within {call.timeout_ms} ms")
        except HTTPError as error:
            # Its text may quote the URL, whose query may be a secret.
            return failed("connect", f"{host}: {type(error).__name__}{_cause_of(error)}")

    def _send(self, call: Call) -> BaseHTTPResponse:
        try:
            return self._send_once(call)
        except ProtocolError as error:
            if isinstance(error.args[-1], StaleConnection):
                return self._send_once(call)
            raise

    def _send_once(self, call: Call) -> BaseHTTPResponse:
        method = call.target.get("method", "POST")
        total = call.timeout_ms / SECOND
        return self._connections.request(
            method,
            call.target["url"],
            body=None if method in _WITHOUT_BODY else json.dumps(call.payload, separators=(",", ":")).encode(),
            headers=self._headers(call),
            timeout=Timeout(total=total, connect=min(CONNECT_TIMEOUT_SECONDS, total)),
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
        )

    def _headers(self, call: Call) -> HTTPHeaderDict:
        headers = HTTPHeaderDict({"Content-Type": "application/json", "User-Agent": f"Carillon/{carillon.__version__}"})
        for name, value in call.target.get("headers", {}).items():
            headers[name] = value
        headers["webhook-id"] = f"{call.job_id}_{call.run_id}"
        headers["webhook-timestamp"] = str(self._clock.now() // SECOND)
        headers["Carillon-Attempt"] = str(call.attempt)
        headers["Carillon-Slot"] = to_rfc3339(call.slot)
        headers["Carillon-Fencing-Token"] = str(call.token)
        return headers


def _outcome_of(response: BaseHTTPResponse, host: str | None) -> Outcome:
    body = _start_of_body(response)
    status = response.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return succeeded(body)
    hint = "; redirects are not followed" if status // 100 == 3 else ""  # noqa: PLR2004 (3xx)
    return failed(f"http_{status // 100}xx", f"{host} answered {status}{hint}", output=body)


def _start_of_body(response: BaseHTTPResponse) -> str | None:
    """What a run stores of the answer. The status has been given by then: a body that breaks off changes nothing."""
    try:
        body = response.read(MAX_OUTPUT_BYTES + 1)
    except HTTPError:
        body = b""
    if len(body) > MAX_OUTPUT_BYTES:
        # Reading on only to keep the connection would let a receiver send without end.
        response.close()
    else:
        response.release_conn()
    return body.decode(errors="replace") or None


def _cause_of(error: HTTPError) -> str:
    """The innermost reason, such as `ConnectionRefusedError` or a certificate's fault."""
    cause: BaseException = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    return "" if cause is error else f" ({type(cause).__name__})"
