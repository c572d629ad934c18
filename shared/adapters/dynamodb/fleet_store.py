from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed
from shared.adapters.dynamodb import conditions, fleet_rows
from shared.adapters.dynamodb.attributes import Row, flag, text, whole
from shared.adapters.dynamodb.queries import Queries, Query
from shared.config import TableNames
from shared.domain.fleet import Control, FleetSnapshot, Lease, Node
from shared.domain.instants import Instant, to_instant
from shared.ports.fleet_store import BeatAnswer, LeaseAnswer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoFleetStore:
    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        calls: Calls,
    ) -> None:
        self._client = client
        self._table = tables.fleet
        self._calls = calls
        self._queries = Queries(client, calls)

    def beat(self, node: Node) -> BeatAnswer:
        row = fleet_rows.write_node(node)
        self._calls.repeat("fleet.beat", lambda: self._client.put_item(TableName=self._table, Item=row))
        answer: dict[str, Any] = self._calls.repeat(
            "fleet.control",
            lambda: dict(self._client.get_item(TableName=self._table, Key=fleet_rows.CONTROL_KEY, ConsistentRead=True)),
        )
        return BeatAnswer(fleet_rows.read_control(answer.get("Item")), _time_told_by(answer))

    def snapshot(self) -> FleetSnapshot:
        controls = self._rows_of(fleet_rows.CONTROL)
        nodes = map(fleet_rows.read_node, self._rows_of(fleet_rows.NODE))
        leases = map(fleet_rows.read_lease, self._rows_of(fleet_rows.SHARD))
        return FleetSnapshot(
            nodes={node.node_id: node for node in nodes},
            leases={lease.shard: lease for lease in leases},
            control=fleet_rows.read_control(controls[0]) if controls else Control(),
        )

    def _rows_of(self, kind: str) -> list[Row]:
        query = Query(table=self._table, condition=conditions.ROWS_OF_KIND, values={":kind": text(kind)})
        return [row for rows in self._queries.pages("fleet.snapshot", query) for row in rows]

    def lease(self, shard: int) -> LeaseAnswer:
        key = fleet_rows.lease_key(shard)
        answer: dict[str, Any] = self._calls.repeat(
            "fleet.lease",
            lambda: dict(self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)),
        )
        row = answer.get("Item")
        return LeaseAnswer(Lease(shard) if row is None else fleet_rows.read_lease(row), _time_told_by(answer))

    def take(self, seen: Lease, *, owner: str) -> Lease | None:
        condition, values = _as_seen(seen)
        values |= {":owner": text(owner), ":epoch": whole(seen.epoch + 1), ":watermark": whole(seen.watermark)}
        key = fleet_rows.lease_key(seen.shard)
        try:
            return fleet_rows.read_lease(self._update("fleet.take", key, conditions.TAKE_LEASE, condition, values))
        except ConditionFailed as failed:
            stored = _lease_in(failed, seen.shard)
            return stored if (stored.owner, stored.epoch) == (owner, seen.epoch + 1) else None

    def checkpoint(self, lease: Lease) -> bool:
        values = _held(lease) | {":watermark": whole(lease.watermark)}
        key = fleet_rows.lease_key(lease.shard)
        try:
            self._update("fleet.checkpoint", key, conditions.RAISE_WATERMARK, conditions.WATERMARK_RISES, values)
        except ConditionFailed as failed:
            stored = _lease_in(failed, lease.shard)
            return stored.owner is not None and (stored.owner, stored.epoch) == (lease.owner, lease.epoch)
        return True

    def disown(self, lease: Lease) -> bool:
        key = fleet_rows.lease_key(lease.shard)
        try:
            self._update("fleet.disown", key, conditions.DISOWN_LEASE, conditions.LEASE_IS_HELD, _held(lease))
        except ConditionFailed as failed:
            # Nobody can have taken it in between: that raises the epoch.
            stored = _lease_in(failed, lease.shard)
            return stored.owner is None and stored.epoch == lease.epoch
        return True

    def remove_node(self, node_id: str) -> None:
        key = fleet_rows.node_key(node_id)
        self._calls.repeat("fleet.remove_node", lambda: self._client.delete_item(TableName=self._table, Key=key))

    def pin_shard_count(self, shard_count: int) -> int:
        values = {":shard_count": whole(shard_count)}
        row = self._update("fleet.pin_shard_count", fleet_rows.CONTROL_KEY, conditions.PIN_SHARD_COUNT, None, values)
        return fleet_rows.read_control(row).shard_count or shard_count

    def set_firing(self, *, is_firing: bool) -> None:
        values = {":is_firing": flag(is_firing)}
        self._update("fleet.set_firing", fleet_rows.CONTROL_KEY, conditions.SET_FIRING, None, values)

    def _update(self, operation: str, key: Row, expression: str, condition: str | None, values: Row) -> Row:
        """The row after the update."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "Key": key,
            "UpdateExpression": expression,
            "ExpressionAttributeNames": conditions.names(expression, condition or ""),
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
        }
        if condition is not None:
            request |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        return self._calls.repeat(operation, lambda: self._client.update_item(**request))["Attributes"]


def _held(lease: Lease) -> Row:
    """No owner has an empty id, so a lease without owner is held by nobody."""
    return {":seen_owner": text(lease.owner or ""), ":seen_epoch": whole(lease.epoch)}


def _as_seen(seen: Lease) -> tuple[str, Row]:
    if seen.epoch == 0:
        return conditions.LEASE_NEVER_OWNED, {}
    if seen.owner is None:
        return conditions.LEASE_IS_FREE, {":seen_epoch": whole(seen.epoch)}
    return conditions.LEASE_IS_HELD, _held(seen)


def _lease_in(failed: ConditionFailed, shard: int) -> Lease:
    return Lease(shard) if failed.row is None else fleet_rows.read_lease(failed.row)


def _time_told_by(answer: dict[str, Any]) -> Instant | None:
    """The Date header, in whole seconds."""
    date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    if date is None:
        return None
    try:
        return to_instant(parsedate_to_datetime(date))
    except ValueError:
        return None
