"""The fleet, and the service itself."""

from __future__ import annotations

from typing import Literal, TypedDict


class Node(TypedDict):
    node_id: str
    #: `silent`: no sign of life for 4 s; `unknown`: the process that answers looks for the first time.
    status: Literal["alive", "silent", "unknown"]
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
    #: How long the oldest slot that is not settled has been due; 0 when nothing is owed.
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
