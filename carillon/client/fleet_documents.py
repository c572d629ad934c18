"""The fleet, and the service itself."""

from __future__ import annotations

from typing import TypedDict


class Node(TypedDict):
    node_id: str
    beat: int
    version: str
    message_version: int
    started_at: str
    shards: list[int]


class Shard(TypedDict):
    shard: int
    owner: str | None
    epoch: int
    watermark: str | None
    lag_ms: int | None


class Fleet(TypedDict):
    firing: bool
    shard_count: int
    nodes: list[Node]
    shards: list[Shard]


class Health(TypedDict):
    status: str
    version: str
    tzdata: str


class OwnerErasure(TypedDict):
    """What was found and erased. Where `is_done` is False, runs are alive still: repeat it when they have ended."""

    jobs: int
    runs: int
    keys: int
    is_done: bool
