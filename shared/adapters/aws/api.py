"""Calls of any AWS API, each under the worker's own role or one it assumes for the owner of a job."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.response import StreamingBody

from shared.adapters.aws.client import CONNECT_TIMEOUT_SECONDS
from shared.adapters.aws.faults import CALL_FAILURES, fault
from shared.domain.errors import StoreError, WriteRefused
from shared.domain.instants import SECOND
from shared.ports.aws_api import AwsCall, Role
from shared.ports.clock import Clock

#: A client's time-out is fixed when it is made, so there is one for each of these, and a call takes the next longer.
READ_TIMEOUTS_SECONDS = (10, 60, 300, 900)
#: Of a role that is assumed from a role, AWS allows no longer session.
SESSION_SECONDS = 3600
#: A client whose session ends sooner than this is replaced: a call must not outlive its credentials' first check.
_RENEWED_BEFORE_SECONDS = 300
_KEPT_CLIENTS = 128
_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class _ClientKey:
    client: str
    region: str
    role: Role | None
    read_timeout_seconds: int


@dataclass(frozen=True, slots=True)
class _Kept:
    client: Any
    #: Monotonic seconds; None: as long as the process.
    until: float | None


class BotoAwsApi:
    """Safe to use from many threads."""

    def __init__(self, clock: Clock, *, endpoint_url: str | None = None) -> None:
        self._clock = clock
        self._endpoint_url = endpoint_url
        self._lock = Lock()
        self._clients: OrderedDict[_ClientKey, _Kept] = OrderedDict()

    def call(self, call: AwsCall) -> Mapping[str, Any]:
        operation = f"{call.client}.{call.operation}"
        try:
            client = self._client_for(call)
            method = getattr(client, xform_name(call.operation))
            with _traced(call.trace):
                answer: Mapping[str, Any] = method(**call.parameters)
            # What is streamed is read here, so that its failures are told apart as those of the call.
            return {name: part.read() if isinstance(part, StreamingBody) else part for name, part in answer.items()}
        except CALL_FAILURES as error:
            raise fault(operation, error) from error

    def _client_for(self, call: AwsCall) -> Any:
        seconds = call.timeout_ms / SECOND
        read_timeout = next((each for each in READ_TIMEOUTS_SECONDS if each >= seconds), READ_TIMEOUTS_SECONDS[-1])
        key = _ClientKey(call.client, call.region, call.role, read_timeout)
        with self._lock:
            kept = self._clients.get(key)
            if kept is not None and (kept.until is None or self._clock.monotonic() < kept.until):
                self._clients.move_to_end(key)
                return kept.client
        # Outside the lock: assuming a role is a call. Two threads may make one client each, and one is kept.
        made = self._make(key)
        with self._lock:
            self._clients[key] = made
            while len(self._clients) > _KEPT_CLIENTS:
                self._clients.popitem(last=False)
        return made.client

    def _make(self, key: _ClientKey) -> _Kept:
        if key.role is None:
            return _Kept(self._client(key), until=None)
        until = self._clock.monotonic() + SESSION_SECONDS - _RENEWED_BEFORE_SECONDS
        return _Kept(self._client(key, **self._credentials_of(key.role, key.region)), until=until)

    def _credentials_of(self, role: Role, region: str) -> dict[str, str]:
        sts = self._client(_ClientKey("sts", region, None, READ_TIMEOUTS_SECONDS[0]))
        try:
            found = sts.assume_role(
                RoleArn=role.role_arn,
                RoleSessionName=role.session_name,
                ExternalId=role.external_id,
                DurationSeconds=SESSION_SECONDS,
            )["Credentials"]
        except CALL_FAILURES as error:
            failure = fault("sts.AssumeRole", error)
            # Whatever became of it, the call itself was not made.
            raise _refused(failure) from error
        return {
            "aws_access_key_id": found["AccessKeyId"],
            "aws_secret_access_key": found["SecretAccessKey"],
            "aws_session_token": found["SessionToken"],
        }

    def _client(self, key: _ClientKey, **credentials: str) -> Any:
        config = Config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=key.read_timeout_seconds,
            max_pool_connections=_CONNECTIONS,
            # A call that may have been carried out must not be repeated here: the job's retry policy decides.
            retries={"mode": "standard", "total_max_attempts": 1},
            user_agent="carillon",
            tcp_keepalive=True,
        )
        made: Any = boto3.Session(region_name=key.region)
        client = made.client(key.client, endpoint_url=self._endpoint_url, config=config, **credentials)
        client.meta.events.register("before-call", _add_trace)
        return client


#: Of the call that the thread is making: clients are shared, and a header is of one call.
_TRACE: ContextVar[str | None] = ContextVar("trace", default=None)


@contextmanager
def _traced(header: str | None) -> Iterator[None]:
    token = _TRACE.set(header)
    try:
        yield
    finally:
        _TRACE.reset(token)


def _add_trace(params: dict[str, Any], **_: object) -> None:
    header = _TRACE.get()
    if header is not None:
        params["headers"]["X-Amzn-Trace-Id"] = header


def _refused(failure: StoreError) -> WriteRefused:
    return failure if isinstance(failure, WriteRefused) else WriteRefused(failure.operation, failure.reason)
