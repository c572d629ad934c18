"""Rows of table `fleet`: nodes, leases, and one row of control."""

from __future__ import annotations

from collections.abc import Mapping

from shared.adapters.dynamodb.attributes import Row, read_text, text
from shared.adapters.dynamodb.columns import (
    document_column,
    flag_column,
    read_columns,
    text_column,
    whole_column,
    write_columns,
)
from shared.domain.fleet import Control, Lease, Node
from shared.domain.instants import Instant
from shared.schema import FLEET_CONTROL

PARTITION = "kind"
SORT = "id"

NODE = "node"
SHARD = "shard"
CONTROL = FLEET_CONTROL


def _owed_to_json(owed_since: Mapping[int, Instant]) -> dict[str, int]:
    return {str(shard): int(since) for shard, since in owed_since.items()}


def _owed_from_json(stored: Mapping[str, int]) -> dict[int, Instant]:
    return {int(shard): Instant(since) for shard, since in stored.items()}


NODE_COLUMNS = (
    whole_column("beat"),
    text_column("version"),
    whole_column("message_version"),
    whole_column("started_at"),
    document_column("owed_since", _owed_to_json, _owed_from_json),
)
LEASE_COLUMNS = (text_column("owner"), whole_column("epoch"), whole_column("watermark"))
CONTROL_COLUMNS = (flag_column("is_firing"), whole_column("shard_count"))

CONTROL_KEY: Row = {PARTITION: text(CONTROL), SORT: text("fleet")}


def node_key(node_id: str) -> Row:
    return {PARTITION: text(NODE), SORT: text(node_id)}


def lease_key(shard: int) -> Row:
    return {PARTITION: text(SHARD), SORT: text(str(shard))}


def write_node(node: Node) -> Row:
    return node_key(node.node_id) | write_columns(NODE_COLUMNS, node)


def read_node(row: Row) -> Node:
    return Node(node_id=read_text(row[SORT]), **read_columns(NODE_COLUMNS, row))


def read_lease(row: Row) -> Lease:
    return Lease(shard=int(read_text(row[SORT])), **read_columns(LEASE_COLUMNS, row))


def read_control(row: Row | None) -> Control:
    return Control(**read_columns(CONTROL_COLUMNS, row or {}))
