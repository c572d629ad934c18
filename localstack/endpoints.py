"""Clients of the emulator, for the local stack and for tests; product code uses plain boto3."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
from localstack_client.config import get_service_endpoint  # type: ignore[import-untyped]

from localstack.environment import HARMLESS, REGION, TRUSTED, UnsafeTarget, require_loopback

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_ecs import ECSClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sqs import SQSClient


def client(service: str, *, endpoint: str) -> Any:
    """A client with worthless keys of the emulator at that endpoint.

    Raises:
        UnsafeTarget: the endpoint is not on this machine, or AWS_ENDPOINT_URL names another one.
    """
    require_loopback(endpoint)
    chosen = get_service_endpoint(service, localstack_host=urlsplit(endpoint).netloc)
    # It knows of TLS from a variable of its own only.
    if urlsplit(chosen).netloc != urlsplit(endpoint).netloc:
        raise UnsafeTarget(f"AWS_ENDPOINT_URL says {chosen}, but the local stack is at {endpoint}; unset it")
    session = boto3.session.Session(
        aws_access_key_id=HARMLESS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=HARMLESS["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
    )
    trusted = os.environ.get(TRUSTED)
    return session.client(service, endpoint_url=endpoint, verify=trusted)  # type: ignore[call-overload]


def dynamodb(endpoint: str) -> DynamoDBClient:
    made: DynamoDBClient = client("dynamodb", endpoint=endpoint)
    return made


def sqs(endpoint: str) -> SQSClient:
    made: SQSClient = client("sqs", endpoint=endpoint)
    return made


def ecs(endpoint: str) -> ECSClient:
    made: ECSClient = client("ecs", endpoint=endpoint)
    return made


def functions(endpoint: str) -> LambdaClient:
    made: LambdaClient = client("lambda", endpoint=endpoint)
    return made


def cloudformation(endpoint: str) -> CloudFormationClient:
    made: CloudFormationClient = client("cloudformation", endpoint=endpoint)
    return made
