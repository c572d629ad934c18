"""The logical shape of every table, index and queue: the one source for the adapters, for `infra` and for the tests.

Physical names are generated at deploy and reach a process through its environment (`shared.config`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AttributeType = Literal["S", "N"]
Projection = Literal["ALL", "KEYS_ONLY"]


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index. A local one shares the table's partition key and can be read strongly consistently."""

    name: str
    partition: Attribute
    sort: Attribute
    is_local: bool
    projection: Projection = "ALL"


@dataclass(frozen=True, slots=True)
class Table:
    """`ttl` is the attribute DynamoDB expires rows by, in seconds since the epoch."""

    name: str
    partition: Attribute
    sort: Attribute | None = None
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None


JOB_KEY = Attribute("job_key", "S")

JOBS = Table(
    name="jobs",
    partition=JOB_KEY,
    indexes=(
        # Keys only: a row changes more often (its job ends, a run takes a place) than somebody lists it.
        Index(
            "by_owner",
            Attribute("owner_slice", "S"),
            Attribute("created_at", "N"),
            is_local=False,
            projection="KEYS_ONLY",
        ),
    ),
    ttl="expires_at",
)

JOB_SCHEDULES = Table(
    name="job_schedules",
    partition=Attribute("shard", "N"),
    sort=Attribute("entry_id", "S"),
    # Sparse: only entries that a scheduler has parked; the others lie under their instant themselves.
    indexes=(Index("by_next", Attribute("shard", "N"), Attribute("next_at", "N"), is_local=True),),
)

JOB_RUNS = Table(
    name="job_runs",
    partition=JOB_KEY,
    sort=Attribute("run_id", "S"),
    indexes=(
        # No local one: it would limit the runs of a job to 10 GB.
        # Sparse: only runs that failed.
        Index("failures", Attribute("failure_slice", "S"), Attribute("ended_at", "N"), is_local=False),
    ),
    ttl="expires_at",
)

#: Of the one row of `fleet` that the API writes: the brake, and N.
FLEET_CONTROL = "control"
FLEET = Table(name="fleet", partition=Attribute("kind", "S"), sort=Attribute("id", "S"))

ACCESS = Table(name="access", partition=Attribute("pk", "S"), ttl="expires_at")

TABLES = (JOBS, JOB_SCHEDULES, JOB_RUNS, FLEET, ACCESS)

#: A lane is a queue with its dead-letter queue and its worker host.
DEFAULT_LANE = "default"
#: What is fired late goes here, at a rate, so that it cannot delay what is due now.
CATCH_UP_LANE = "catchup"
#: What runs longer than a Lambda function can: always worked by ECS.
LONG_LANE = "long"
LANES = (DEFAULT_LANE, CATCH_UP_LANE, LONG_LANE)


def late_lane(lane: str) -> str:
    """The lane of what is fired late of a job in `lane`: one that a job's host can bear."""
    return LONG_LANE if lane == LONG_LANE else CATCH_UP_LANE


#: How long SQS keeps a message of a lane, and of its dead-letter queue. A run row outlives both.
LANE_RETENTION_DAYS = 4
DEAD_LETTER_RETENTION_DAYS = 14
#: High, for a hidden message (a live run, an early hold) counts a receive without having failed.
MAX_RECEIVE_COUNT = 100
