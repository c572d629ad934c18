"""Rows of table `fleet`: nodes, leases, and one row of control."""

from __future__ import annotations

from shared.adapters.dynamodb.attributes import Row, read_text, text
from shared.adapters.dynamodb.columns import flag_column, read_columns, text_column, whole_column, write_columns
from shared.domain.fleet import Control, Lease, Node
from shared.schema import FLEET_CONTROL

PARTITION = "kind"
SORT = "id"

NODE = "node"
SHARD = "shard"
CONTROL = FLEET_CONTROL

NODE_COLUMNS = (
    whole_column("beat"),
    text_column("version"),
    whole_column("message_version"),
    whole_column("started_at"),
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
