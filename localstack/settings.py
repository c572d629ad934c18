"""Which settings of a template matter here, how the deployed ones are read, and how one that is missing is set.

The emulator takes some properties without a word and without effect. Each kind of resource that the product leans on
therefore has: what the template wants, what the emulator has and, where that works, how to set it by API.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from localstack import endpoints

#: A setting by its name, as far as the template says it literally.
Settings = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One type of resource. `change` is given the physical id and the settings to set; None: nothing can be set."""

    wanted: Callable[[Mapping[str, Any]], Settings]
    deployed: Callable[[str, str], Settings]
    change: Callable[[str, str, Settings], None] | None = None


def differences(wanted: Mapping[str, Any], deployed: Mapping[str, Any]) -> Settings:
    """The wanted settings that the deployed ones do not have."""
    return {name: value for name, value in wanted.items() if deployed.get(name) != value}


def _literal(settings: Mapping[str, Any]) -> Settings:
    """Without what is absent and what CloudFormation computes."""
    return {name: value for name, value in settings.items() if value is not None and not isinstance(value, dict)}


def _keys(schema: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((key["AttributeName"], key["KeyType"]) for key in schema)


def _indexes(properties: Mapping[str, Any], name: str) -> list[Any]:
    return sorted(
        [index["IndexName"], _keys(index["KeySchema"]), index["Projection"]["ProjectionType"]]
        for index in properties.get(name) or []
    )


def _table_shape(properties: Mapping[str, Any]) -> Settings:
    return {
        "keys": _keys(properties["KeySchema"]),
        "global indexes": _indexes(properties, "GlobalSecondaryIndexes"),
        "local indexes": _indexes(properties, "LocalSecondaryIndexes"),
    }


def _table_wanted(properties: Mapping[str, Any]) -> Settings:
    ttl = properties.get("TimeToLiveSpecification", {})
    recovery = properties.get("PointInTimeRecoverySpecification", {})
    return {
        **_table_shape(properties),
        "time to live": ttl.get("AttributeName") if ttl.get("Enabled", True) else None,
        "point-in-time recovery": bool(recovery.get("PointInTimeRecoveryEnabled")),
    }


def _table_deployed(endpoint: str, name: str) -> Settings:
    dynamodb = endpoints.dynamodb(endpoint)
    table: Any = dynamodb.describe_table(TableName=name)["Table"]
    ttl = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    return {
        **_table_shape(table),
        "time to live": ttl.get("AttributeName") if ttl["TimeToLiveStatus"] in ("ENABLED", "ENABLING") else None,
        "point-in-time recovery": recovery == "ENABLED",
    }


def _table_change(endpoint: str, name: str, missing: Settings) -> None:
    dynamodb = endpoints.dynamodb(endpoint)
    if missing.get("time to live"):
        dynamodb.update_time_to_live(
            TableName=name,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": missing["time to live"]},
        )
    if "point-in-time recovery" in missing:
        dynamodb.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": missing["point-in-time recovery"]},
        )


QUEUE_ATTRIBUTES = ("VisibilityTimeout", "MessageRetentionPeriod", "DelaySeconds", "ReceiveMessageWaitTimeSeconds")


def _queue_wanted(properties: Mapping[str, Any]) -> Settings:
    redrive = properties.get("RedrivePolicy", {})
    counted = {"maxReceiveCount": redrive.get("maxReceiveCount")}
    return _literal({**{name: properties.get(name) for name in QUEUE_ATTRIBUTES}, **counted})


def _queue_deployed(endpoint: str, url: str) -> Settings:
    attributes: Any = endpoints.sqs(endpoint).get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    redrive = json.loads(attributes.get("RedrivePolicy", "{}"))
    counted = {"maxReceiveCount": int(redrive["maxReceiveCount"])} if "maxReceiveCount" in redrive else {}
    return {**{name: int(attributes[name]) for name in QUEUE_ATTRIBUTES if name in attributes}, **counted}


def _queue_change(endpoint: str, url: str, missing: Settings) -> None:
    attributes: Any = {name: str(value) for name, value in missing.items() if name in QUEUE_ATTRIBUTES}
    endpoints.sqs(endpoint).set_queue_attributes(QueueUrl=url, Attributes=attributes)


FUNCTION_SETTINGS = ("Handler", "Timeout", "MemorySize", "Runtime")
RESERVED = "ReservedConcurrentExecutions"


def _function_wanted(properties: Mapping[str, Any]) -> Settings:
    variables = properties.get("Environment", {}).get("Variables", {})
    settings = {name: properties.get(name) for name in (*FUNCTION_SETTINGS, RESERVED)}
    return {**_literal(settings), "variables": sorted(variables)}


def _function_deployed(endpoint: str, name: str) -> Settings:
    functions = endpoints.functions(endpoint)
    configuration: Any = functions.get_function_configuration(FunctionName=name)
    reserved = functions.get_function_concurrency(FunctionName=name).get(RESERVED)
    return {
        **{setting: configuration.get(setting) for setting in FUNCTION_SETTINGS},
        RESERVED: reserved,
        "variables": sorted(configuration.get("Environment", {}).get("Variables", {})),
    }


def _function_change(endpoint: str, name: str, missing: Settings) -> None:
    if RESERVED in missing:
        endpoints.functions(endpoint).put_function_concurrency(
            FunctionName=name, ReservedConcurrentExecutions=missing[RESERVED]
        )


def _mapping_wanted(properties: Mapping[str, Any]) -> Settings:
    settings = {name: properties.get(name) for name in ("BatchSize", "FunctionResponseTypes")}
    concurrency = properties.get("ScalingConfig", {}).get("MaximumConcurrency")
    return _literal({**settings, "MaximumConcurrency": concurrency})


def _mapping_deployed(endpoint: str, uuid: str) -> Settings:
    mapping: Any = endpoints.functions(endpoint).get_event_source_mapping(UUID=uuid)
    return {**mapping, "MaximumConcurrency": mapping.get("ScalingConfig", {}).get("MaximumConcurrency")}


KINDS: dict[str, Kind] = {
    "AWS::DynamoDB::Table": Kind(_table_wanted, _table_deployed, _table_change),
    "AWS::SQS::Queue": Kind(_queue_wanted, _queue_deployed, _queue_change),
    "AWS::Lambda::Function": Kind(_function_wanted, _function_deployed, _function_change),
    "AWS::Lambda::EventSourceMapping": Kind(_mapping_wanted, _mapping_deployed),
}
