"""How clients are made. Carillon retries by itself (`calls`), for botocore's own retries would hide that an earlier
attempt may have been carried out.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import IncompleteReadError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

#: Longer than any answer of a healthy table, shorter than a node's trust in its leases.
DYNAMODB_READ_TIMEOUT_SECONDS = 2.5
#: What SQS may take beyond the wait that was asked for.
SQS_READ_TIMEOUT_SECONDS = 5.0
EVENTS_READ_TIMEOUT_SECONDS = 2.5
ECS_READ_TIMEOUT_SECONDS = 2.5
CONNECT_TIMEOUT_SECONDS = 1.0


def dynamodb_client(
    *,
    read_timeout_seconds: float = DYNAMODB_READ_TIMEOUT_SECONDS,
    connections: int = 16,
    endpoint_url: str | None = None,
) -> DynamoDBClient:
    """A client whose answers are whole: a body that was cut off is an error, not an empty answer."""
    client = boto3.client("dynamodb", endpoint_url=endpoint_url, config=_config(read_timeout_seconds, connections))
    client.meta.events.register("before-parse.dynamodb", _check_body)
    return client


def sqs_client(*, longest_wait_seconds: int = 0, connections: int = 16, endpoint_url: str | None = None) -> SQSClient:
    """`longest_wait_seconds`: the longest `wait_seconds` of a receive; 0 for a client that only sends."""
    read_timeout_seconds = SQS_READ_TIMEOUT_SECONDS + longest_wait_seconds
    return boto3.client("sqs", endpoint_url=endpoint_url, config=_config(read_timeout_seconds, connections))


def events_client(*, endpoint_url: str | None = None) -> Any:
    """For EventBridge."""
    return boto3.client("events", endpoint_url=endpoint_url, config=_config(EVENTS_READ_TIMEOUT_SECONDS, 2))


def ecs_client() -> Any:
    """For a look at the own service."""
    return boto3.client("ecs", config=_config(ECS_READ_TIMEOUT_SECONDS, 1))


def _config(read_timeout_seconds: float, connections: int) -> Config:
    return Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=read_timeout_seconds,
        max_pool_connections=connections,
        retries={"mode": "standard", "total_max_attempts": 1},
        # Both save a tenth of the time of a call: the adapters are tested against the real shapes.
        parameter_validation=False,
        user_agent="carillon",
        tcp_keepalive=True,
    )


def _check_body(response_dict: dict[str, Any], **_: object) -> None:
    """A truncated answer to GetItem would otherwise read as `not found`."""
    expected = response_dict["headers"].get("x-amz-crc32")
    body: bytes = response_dict["body"]
    if not body or (expected is not None and zlib.crc32(body) != int(expected)):
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=response_dict["headers"].get("content-length"))
