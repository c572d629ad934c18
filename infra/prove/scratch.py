"""Tables and queues that exist for one proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shared.config import TableNames
from shared.schema import TABLES, Index, Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

#: Of every table and queue that a proof makes: what an interrupted one left behind is found by it.
PREFIX = "carillon-proof"


@dataclass(frozen=True, slots=True)
class Scratch:
    dynamodb: DynamoDBClient
    sqs: SQSClient
    tables: TableNames
    queue_url: str


@contextmanager
def scratch(dynamodb: DynamoDBClient, sqs: SQSClient, name: str) -> Iterator[Scratch]:
    """Every table of the schema as `carillon-proof-<name>-<table>`, and a queue. They go with the block, however it
    ends. Raises what clients raise.
    """
    prefix = f"{PREFIX}-{name}"
    with ExitStack() as after:
        names = {}
        for table in TABLES:
            names[table.name] = f"{prefix}-{table.name}"
            dynamodb.create_table(**definition(table, names[table.name]))
            after.callback(dynamodb.delete_table, TableName=names[table.name])
        queue_url = sqs.create_queue(QueueName=prefix)["QueueUrl"]
        after.callback(sqs.delete_queue, QueueUrl=queue_url)
        for physical in names.values():
            # One that is being made can be neither used nor deleted.
            dynamodb.get_waiter("table_exists").wait(TableName=physical, WaiterConfig={"Delay": 2, "MaxAttempts": 150})
        yield Scratch(dynamodb, sqs, TableNames(**names), queue_url)


def definition(table: Table, name: str) -> dict[str, Any]:
    """Of CreateTable, without expiry."""
    keys = [table.partition, *([table.sort] if table.sort else [])]
    attributes = {key.name: key.type for key in keys}
    attributes |= {key.name: key.type for index in table.indexes for key in (index.partition, index.sort)}
    made: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(*(key.name for key in keys)),
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in attributes.items()],
    }
    for member, is_local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
        indexes = [_index(index) for index in table.indexes if index.is_local is is_local]
        if indexes:
            made[member] = indexes
    return made


def _index(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition.name, index.sort.name),
        "Projection": {"ProjectionType": index.projection},
    }


def _key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]
