"""Calls of DynamoDB and SQS at about half the CPU of a client of boto3: those that decide how fast a process is.

Of 0.8 ms of CPU a call, a client spends the most on hooks, endpoint rules, shapes and its user agent, which are the
same each time. Here a request is written at once, signed by botocore, sent by the pool of urllib3 that botocore uses
too, and a refusal is read by botocore's parser; endpoint, credentials and certificates are the client's. So callers
cannot tell the two apart. Traces, pauses and retries are the caller's, as ever.
"""

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar, cast

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import get_cert_path
from botocore.parsers import ResponseParserError, create_parser
from botocore.utils import get_environ_proxies
from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3 import exceptions as pool_errors
from urllib3.connection import HTTPConnection

_Client = TypeVar("_Client")
_OK = 200
_CHECKSUM = "x-amz-crc32"


class DirectCalls:
    """To where a client of boto3 sends, as whom it sends; of a service that speaks JSON. Threads may share it."""

    def __init__(self, client: Any) -> None:
        session, meta = botocore.session.get_session(), client.meta
        self._service = meta.service_model
        self._url, self._region = meta.endpoint_url, meta.region_name
        self._credentials = session.get_credentials()
        self._pool = PoolManager(
            maxsize=meta.config.max_pool_connections,
            timeout=Timeout(connect=meta.config.connect_timeout, read=meta.config.read_timeout),
            ca_certs=get_cert_path(session.get_config_variable("ca_bundle") or True),
            socket_options=[*HTTPConnection.default_socket_options, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
        ).connection_from_url(self._url)
        version = self._service.metadata["jsonVersion"]
        self._headers = {"Content-Type": f"application/x-amz-json-{version}", "User-Agent": meta.config.user_agent}

    def __call__(self, operation: str, **request: Any) -> dict[str, Any]:
        """The answer, as a client of boto3 gives it. Raises what such a client raises."""
        response = self._send(operation, json.dumps(request, separators=(",", ":")).encode())
        if response.status != _OK:
            raise self._refusal(operation, response)
        _check_whole(response)
        try:
            answer: dict[str, Any] = json.loads(response.data)
        except ValueError as error:
            raise ResponseParserError(f"no JSON in the answer to {operation}: {error}") from error
        return answer

    def _send(self, operation: str, body: bytes) -> BaseHTTPResponse:
        headers = self._signed(operation, body)
        try:
            return self._pool.urlopen("POST", "/", body, headers, retries=False)
        except pool_errors.SSLError as error:
            raise SSLError(endpoint_url=self._url, error=error) from error
        except pool_errors.NewConnectionError as error:
            raise EndpointConnectionError(endpoint_url=self._url, error=error) from error
        except pool_errors.ConnectTimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self._url, error=error) from error
        except pool_errors.ReadTimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except pool_errors.HTTPError as error:
            raise ConnectionClosedError(endpoint_url=self._url, error=error) from error

    def _signed(self, operation: str, body: bytes) -> dict[str, str]:
        if self._credentials is None:
            raise NoCredentialsError
        target = f"{self._service.metadata['targetPrefix']}.{operation}"
        request = AWSRequest("POST", self._url, headers={**self._headers, "X-Amz-Target": target}, data=body)
        keys = self._credentials.get_frozen_credentials()
        SigV4Auth(keys, self._service.signing_name, self._region).add_auth(request)
        return dict(request.headers.items())

    def _refusal(self, operation: str, response: BaseHTTPResponse) -> ClientError:
        given = {"status_code": response.status, "headers": response.headers, "body": response.data}
        shape = self._service.operation_model(operation).output_shape
        return ClientError(create_parser(self._service.metadata["protocol"]).parse(given, shape), operation)

    def close(self) -> None:
        """Nothing more is sent."""
        self._pool.close()


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


def directly(client: _Client, *methods: str) -> _Client:
    """The client, whose named methods (such as `batch_get_item`) are direct calls from now on.

    Where a proxy is in between, it stays as it is: it knows how to ask one.
    """
    if get_environ_proxies(cast("Any", client).meta.endpoint_url):
        return client
    operations = cast("Any", client).meta.method_to_api_mapping
    partly: Any = _PartlyDirect(client, DirectCalls(client), {name: operations[name] for name in methods})
    return cast("_Client", partly)


def _check_whole(response: BaseHTTPResponse) -> None:
    """DynamoDB says what the checksum is of what it sent."""
    expected = response.headers.get(_CHECKSUM)
    if not response.data or (expected is not None and zlib.crc32(response.data) != int(expected)):
        expected_bytes = int(response.headers.get("content-length", 0))
        raise IncompleteReadError(actual_bytes=len(response.data), expected_bytes=expected_bytes)
