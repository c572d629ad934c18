"""The composition root of recovery: the adapters, over the tables that an operator names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb.backups import DynamoBackups
from shared.adapters.dynamodb.entry_store import DynamoEntryStore
from shared.adapters.dynamodb.fleet_store import DynamoFleetStore
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames
from shared.ports import Clock, EntryStore, FleetStore
from shared.schema import TABLES

#: Of `CreateTable` and its like, which answer slowly.
READ_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Reach:
    """What an operator's command calls."""

    backups: DynamoBackups
    fleet: FleetStore
    entries: EntryStore
    clock: Clock


def reach(tables: Mapping[str, str]) -> Reach:
    """Over tables by logical name, with the operator's own credentials."""
    clock = SystemClock()
    calls = Calls(clock, SystemRandomness())
    client = dynamodb_client(read_timeout_seconds=READ_TIMEOUT_SECONDS)
    names = TableNames(**tables)
    return Reach(
        DynamoBackups(client, calls),
        DynamoFleetStore(client, names, calls),
        DynamoEntryStore(client, names, calls),
        clock,
    )


def tables_of(stack: str) -> dict[str, str]:
    """The tables of a deployed data stack, by logical name, from its outputs. Raises LookupError."""
    try:
        described = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    except (BotoCoreError, ClientError) as error:
        raise LookupError(f"stack {stack} cannot be read: {error}") from error
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", [])}
    try:
        return {table.name: outputs[_output_of(table.name)] for table in TABLES}
    except KeyError as missing:
        raise LookupError(
            f"stack {stack} has no output {missing}: name the data stack, as Carillon-prod-data"
        ) from None


def _output_of(logical_name: str) -> str:
    """`JobRunsTable`."""
    return "".join(part.title() for part in logical_name.split("_")) + "Table"
