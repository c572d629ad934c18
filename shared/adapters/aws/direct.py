"""Calls of DynamoDB and SQS in a third of the time that botocore takes for them: those that decide how fast a process
is.

Of 0.8 ms of CPU a call, botocore spends the most on hooks, endpoint rules, shapes and headers, which are the same each
time. Here the request is written and signed at once (AWS Signature Version 4). Everything that may differ between
deployments is still botocore's: endpoint, credentials, certificates and errors, so that callers cannot tell the two
apart. Traces, pauses and retries are the caller's, as ever.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

import botocore.session
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, IncompleteReadError, NoCredentialsError
from botocore.httpsession import get_cert_path
from botocore.parsers import ResponseParserError
from botocore.utils import get_environ_proxies

from shared.adapters.aws.connections import Answer, Connections
from shared.domain.instants import Instant, to_datetime
from shared.ports.clock import Clock

_Client = TypeVar("_Client")
_OK = 200
_CHECKSUM = "x-amz-crc32"


class DirectCalls:
    """Of one service that speaks JSON; threads may share it. `target` comes before the operation's name."""

    def __init__(
        self,
        connections: Connections,
        credentials: Credentials | None,
        clock: Clock,
        *,
        region: str,
        service: str,
        target: str,
        content_type: str = "application/x-amz-json-1.0",
    ) -> None:
        self._connections = connections
        self._credentials = credentials
        self._clock = clock
        self._region = region
        self._service = service
        self._target = target
        self._content_type = content_type

    @classmethod
    def beside(cls, client: Any, clock: Clock) -> DirectCalls | None:
        """To where a client of boto3 sends, as whom it sends. None where a proxy is in between: that knows how to ask
        the client alone.
        """
        session, meta = botocore.session.get_session(), client.meta
        if get_environ_proxies(meta.endpoint_url):
            return None
        connections = Connections(
            meta.endpoint_url,
            connect_timeout_seconds=meta.config.connect_timeout,
            read_timeout_seconds=meta.config.read_timeout,
            ca_file=get_cert_path(session.get_config_variable("ca_bundle") or True),
        )
        known = meta.service_model
        return cls(
            connections,
            session.get_credentials(),
            clock,
            region=meta.region_name,
            service=known.signing_name,
            target=known.metadata["targetPrefix"],
            content_type=f"application/x-amz-json-{known.metadata['jsonVersion']}",
        )

    def __call__(self, operation: str, **request: Any) -> dict[str, Any]:
        """The answer, as a client of boto3 gives it. Raises what such a client raises."""
        body = json.dumps(request, separators=(",", ":")).encode()
        response = self._connections.post(self._headers(operation, body), body)
        if response.status != _OK:
            raise _refusal(operation, response)
        _check_whole(response)
        try:
            answer: dict[str, Any] = json.loads(response.content)
        except ValueError as error:
            raise ResponseParserError(f"no JSON in the answer to {operation}: {error}") from error
        return answer

    def close(self) -> None:
        """Nothing more is sent."""
        self._connections.close()

    def _headers(self, operation: str, body: bytes) -> dict[str, str]:
        if self._credentials is None:
            raise NoCredentialsError
        keys: Any = self._credentials.get_frozen_credentials()
        return signed_headers(
            body,
            self._clock.now(),
            host=self._connections.host,
            region=self._region,
            service=self._service,
            target=f"{self._target}.{operation}",
            content_type=self._content_type,
            keys=(keys.access_key, keys.secret_key, keys.token),
        )


class _PartlyDirect:
    """A client of boto3, some of whose methods are direct calls."""

    def __init__(self, client: Any, direct: DirectCalls, methods: Mapping[str, str]) -> None:
        self._client = client
        self._direct = direct
        self._methods = {name: partial(direct, operation) for name, operation in methods.items()}

    def close(self) -> None:
        self._direct.close()
        self._client.close()

    def __getattr__(self, name: str) -> Any:
        return self._methods[name] if name in self._methods else getattr(self._client, name)


def directly(client: _Client, clock: Clock, *methods: str) -> _Client:
    """The client, whose named methods (such as `batch_get_item`) are direct calls from now on, where they can be."""
    direct = DirectCalls.beside(client, clock)
    if direct is None:
        return client
    operations = cast("Any", client).meta.method_to_api_mapping
    partly: Any = _PartlyDirect(client, direct, {name: operations[name] for name in methods})
    return cast("_Client", partly)


def signed_headers(
    body: bytes,
    now: Instant,
    *,
    host: str,
    region: str,
    service: str,
    target: str,
    content_type: str,
    keys: tuple[str, str, str | None],
) -> dict[str, str]:
    """Of a POST to `/`; `keys` are access key, secret key and session token."""
    access_key, secret_key, token = keys
    stamp = _stamp(now // 1000)
    headers = {"Content-Type": content_type, "Host": host, "X-Amz-Date": stamp}
    if token is not None:
        headers["X-Amz-Security-Token"] = token
    headers["X-Amz-Target"] = target
    names = ";".join(headers).lower()
    lines = "".join(f"{name.lower()}:{value}\n" for name, value in headers.items())
    canonical = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    asked = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signing_key = _signing_key(secret_key, stamp[:8], region, service)
    signature = hmac.digest(signing_key, asked.encode(), "sha256").hex()
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


@lru_cache(maxsize=4)
def _stamp(second: int) -> str:
    return to_datetime(Instant(second * 1000)).strftime("%Y%m%dT%H%M%SZ")


@lru_cache(maxsize=8)
def _signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    """Of a day; it takes as long as the rest of a signature."""
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _check_whole(response: Answer) -> None:
    """DynamoDB says what the checksum is of what it sent."""
    expected = response.headers.get(_CHECKSUM)
    if not response.content or (expected is not None and zlib.crc32(response.content) != int(expected)):
        expected_bytes = int(response.headers.get("content-length", 0))
        raise IncompleteReadError(actual_bytes=len(response.content), expected_bytes=expected_bytes)


def _refusal(operation: str, response: Answer) -> ClientError:
    """As botocore reads it: the code in the header, for callers that know those of the older protocol, comes first."""
    try:
        document = json.loads(response.content)
    except ValueError:
        document = {}
    known = document if isinstance(document, dict) else {}
    code = response.headers.get("x-amzn-query-error", "").partition(";")[0]
    code = code or str(known.get("__type", response.status)).rpartition("#")[2]
    message = str(known.get("message", known.get("Message", "")))
    answer: Any = {
        **{name: value for name, value in known.items() if name == "CancellationReasons"},
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": response.status},
    }
    return ClientError(answer, operation)
