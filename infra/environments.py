"""What differs between the places Carillon is deployed to. Everything else is the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from shared.config import DEFAULT_SHARD_COUNT
from shared.schema import CATCH_UP_LANE, DEFAULT_LANE, LANES

#: Who works a lane: `lambda` costs nothing while idle, `ecs` holds the drift budget.
Host = Literal["lambda", "ecs"]

#: AWS accepts no other value for the concurrency of an event source mapping.
CONCURRENCY_OF_A_MAPPING = range(2, 1001)


class UnknownEnvironment(Exception):
    """The context names an environment that there is none of."""

    def __init__(self, name: object) -> None:
        self.name = name
        super().__init__(
            f"there is no environment {name!r}: choose {', '.join(ENVIRONMENTS)}, for example `-c environment=dev`"
        )


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """Who works one lane; `concurrency` is how many batches of ten run at once on Lambda."""

    host: Host
    concurrency: int

    def __post_init__(self) -> None:
        if self.concurrency not in CONCURRENCY_OF_A_MAPPING:
            raise ValueError(f"the concurrency of a lane must be 2 to 1000, not {self.concurrency}")


def _lanes(host: Host, *, default: int, catch_up: int) -> Mapping[str, LaneSettings]:
    return MappingProxyType({DEFAULT_LANE: LaneSettings(host, default), CATCH_UP_LANE: LaneSettings(host, catch_up)})


@dataclass(frozen=True, slots=True)
class Environment:
    """One kind of deployment.

    `is_emulated` leaves out what the emulator cannot take and builds the functions for this machine; `is_protected`
    keeps tables and their stack from being deleted. `internal_targets` are the `host:port` (or `host:*`) that a target
    of type http may reach although they are not public addresses.
    """

    name: str
    is_emulated: bool = False
    is_protected: bool = True
    shard_count: int = DEFAULT_SHARD_COUNT
    scheduler_tasks: int = 2
    lanes: Mapping[str, LaneSettings] = field(default_factory=lambda: _lanes("lambda", default=10, catch_up=2))
    worker_tasks: int = 0
    #: None: share what the account has left. AWS lets nobody reserve the last 100.
    worker_reserved_concurrency: int | None = None
    internal_targets: tuple[str, ...] = ()
    log_retention_days: int = 30

    def __post_init__(self) -> None:
        if set(self.lanes) != set(LANES):
            raise ValueError(f"environment {self.name} must set each lane of {', '.join(LANES)}")
        if any(lane.host == "ecs" for lane in self.lanes.values()) and self.worker_tasks < 1:
            raise ValueError(f"environment {self.name} has a lane on ecs and no worker task to work it")
        wanted = sum(lane.concurrency for lane in self.lanes.values() if lane.host == "lambda")
        reserved = self.worker_reserved_concurrency
        if reserved is not None and reserved < wanted:
            raise ValueError(
                f"reserved concurrency of {self.name} ({reserved}) is below that of its lanes together ({wanted}): "
                "they would be throttled, and their messages would come again"
            )


LOCAL = Environment(
    name="local",
    is_emulated=True,
    is_protected=False,
    shard_count=4,
    lanes=_lanes("ecs", default=2, catch_up=2),
    worker_tasks=1,
    internal_targets=("127.0.0.1:*", "localhost:*"),
    log_retention_days=1,
)
DEV = Environment(name="dev", log_retention_days=7)
PROD = Environment(
    name="prod",
    lanes=_lanes("lambda", default=100, catch_up=10),
    worker_reserved_concurrency=110,
    log_retention_days=90,
)

ENVIRONMENTS: Mapping[str, Environment] = MappingProxyType({each.name: each for each in (LOCAL, DEV, PROD)})


def environment_named(name: object) -> Environment:
    """Raises UnknownEnvironment."""
    if not isinstance(name, str) or name not in ENVIRONMENTS:
        raise UnknownEnvironment(name)
    return ENVIRONMENTS[name]
