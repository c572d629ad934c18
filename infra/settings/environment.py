from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from infra.settings.api import ApiSettings
from infra.settings.domain import CustomDomain
from infra.settings.grants import Grant
from infra.settings.handlers import Handlers
from infra.settings.lanes import LANE_NAME, Host, LaneSettings
from infra.settings.limits import OwnerLimits
from infra.settings.network import NetworkSettings
from infra.settings.tables import WarmThroughput
from infra.settings.tasks import TaskSettings
from infra.settings.tracing import Tracing
from shared.config import DEFAULT_SHARD_COUNT, MOST_OF_OWNER
from shared.schema import DEAD_LETTER_RETENTION_DAYS, DEFAULT_LANE, LANES, LONG_LANE, TABLES

#: The numbers that CloudWatch Logs accepts.
LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3653)
#: The longest time between two sweeps that the protocol's margin carries with room to spare.
LONGEST_SWEEP_MS = 10_000
#: Longer would make little better, and cancels of runs that are claimed already more frequent.
LONGEST_LEAD_MS = 5_000
#: An owner_id, or the `*` that stands for all others.
_OWNER = r"^(\*|[A-Za-z0-9_.:@|+=-]{1,64})$"
#: All variables of a function together may have 4 KB: these many bytes are left by what is always there.
_MOST_VARIABLE_BYTES = 1_500
MOST_NAMED_OWNERS = 20


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Auth:
    """Who is let in: the API's own keys, tokens of an OpenID issuer, or callers of AWS.

    `owner_claim` says whose jobs a caller may touch: a claim of the token (`sub`, unless it is given), or of a
    signature `account` or `principal`. `admins` are the principals (`role:Operator`, `user:alice`, of
    another account `123456789012:role:Operator`) with scope admin.
    """

    mode: Literal["keys", "jwt", "iam"] = "keys"
    issuer: str | None = None
    audience: tuple[str, ...] = ()
    owner_claim: str | None = None
    scopes_claim: str | None = None
    admins: tuple[Annotated[str, Field(pattern=r"^([0-9]{12}:)?(role|user):[\w+=.@-]+$")], ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mode == "jwt" and not (self.issuer and self.audience):
            raise ValueError("mode jwt needs issuer and audience: the issuer's URL, and what its tokens are made for")
        if self.mode != "jwt" and (self.issuer or self.audience):
            raise ValueError(
                f"issuer and audience mean nothing in mode {self.mode}: set mode to jwt, or leave them out"
            )
        if self.mode == "keys" and self.owner_claim:
            raise ValueError("owner_claim means nothing in mode keys: a key says whose it is")
        if self.mode == "iam" and self.owner_claim not in {None, "account", "principal"}:
            raise ValueError(f"owner_claim is {self.owner_claim!r}: in mode iam choose account or principal")
        if self.mode != "jwt" and self.scopes_claim:
            raise ValueError(f"scopes_claim means nothing in mode {self.mode}: only tokens have claims")
        if self.mode != "iam" and self.admins:
            raise ValueError(f"admins means nothing in mode {self.mode}: there scope admin makes one")
        return self

    @property
    def variables(self) -> dict[str, str]:
        """What the function is told of it."""
        told = {
            "CARILLON_AUTH": self.mode,
            "CARILLON_OWNER_CLAIM": self.owner_claim,
            "CARILLON_SCOPES_CLAIM": self.scopes_claim,
            "CARILLON_ADMINS": ",".join(self.admins),
        }
        return {name: value for name, value in told.items() if value}


def lanes_on(host: Host, *, usual: int, others: int) -> Mapping[str, LaneSettings]:
    """Every lane on one host, but the long one, which only ECS can bear; `usual` is the default lane's concurrency."""
    return {
        name: LaneSettings("ecs" if name == LONG_LANE else host, usual if name == DEFAULT_LANE else others)
        for name in LANES
    }


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Environment:
    """One kind of deployment.

    `is_emulated` leaves out what the emulator cannot take and builds the functions for this machine; `is_protected`
    keeps tables, logs and their stack from being deleted. `internal_targets` are the `host:port` (or `host:*`) that a
    target of type http may reach although they are not public addresses.
    """

    name: str
    is_emulated: bool = False
    is_protected: bool = True
    #: Somebody must hear of its alarms.
    is_watched: bool = False
    #: For good: a fleet refuses to start with another number than the one its tables were first used with.
    shard_count: Annotated[int, Field(ge=1, le=256)] = DEFAULT_SHARD_COUNT
    scheduler: TaskSettings = TaskSettings()
    worker: TaskSettings = TaskSettings(tasks=0)
    sweep_interval_ms: Annotated[int, Field(ge=1000, le=LONGEST_SWEEP_MS)] = 1000
    #: Calls that a node has on their way to SQS at once: sixteen are about 7,000 fires a second.
    senders: Annotated[int, Field(ge=1, le=64)] = 16
    #: Those of `shared.schema.LANES`, and any others that jobs may choose.
    lanes: Mapping[str, LaneSettings] = field(default_factory=lambda: lanes_on("lambda", usual=10, others=2))
    #: Of a worker that falls silent: its runs may be taken over after this, and the clock bound.
    worker_lease_seconds: Annotated[int, Field(ge=5, le=300)] = 20
    #: Webhooks in flight at once in a lane of a worker.
    worker_webhooks: Annotated[int, Field(ge=4, le=5000)] = 500
    #: Between the clocks of two hosts; the default bears 45 s of error on each of them.
    clock_bound_ms: Annotated[int, Field(ge=1000, le=600_000)] = 90_000
    #: How many runs of an owner may go on at once, by owner_id; `*` is every owner that is not named. Others wait.
    owner_concurrency: Mapping[Annotated[str, Field(pattern=_OWNER)], Annotated[int, Field(ge=1, le=MOST_OF_OWNER)]] = (
        field(default_factory=dict)
    )
    #: None: share what the account has left. `lanes`: as many as those on Lambda may use together. AWS lets nobody
    #: reserve the last 100, and a new account has no more.
    worker_reserved_concurrency: int | Literal["lanes"] | None = None
    #: Of the function that works all lanes on Lambda, in MB; its share of a core grows with it.
    worker_memory_mb: Annotated[int, Field(ge=256, le=10_240)] = 512
    #: A snapshot shortens a cold start to a third, and is paid for by the hour for each published version.
    worker_snap_start: bool = False
    #: None: `echo`, `sleep` and `fail` are all there are.
    handlers: Handlers | None = None
    internal_targets: tuple[str, ...] = ()
    #: Whether an owner needs a grant for a public host too, as for functions and calls of AWS.
    http_grants: Literal["open", "required"] = "open"
    grants: tuple[Grant, ...] = ()
    run_retention_days: Annotated[int, Field(le=3650)] = 30
    log_retention_days: int = 30
    network: NetworkSettings = NetworkSettings()
    #: `aws`: keys that AWS owns, free. `own`: one key of this account, rotated each year, for all that is stored.
    encryption: Literal["aws", "own"] = "aws"
    auth: Auth = Auth()
    owner_limits: OwnerLimits = OwnerLimits()
    api: ApiSettings = ApiSettings()
    custom_domain: CustomDomain | None = None
    warm_throughput: WarmThroughput | None = None
    #: By logical name, all of them: the service stands on these instead of the data stack's. RUNBOOK.md, "Restoring".
    restored_tables: Mapping[str, Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{3,255}$")]] = field(
        default_factory=dict
    )
    #: `none`: nobody hears of alarms but by what subscribes to their topic (output `AlarmTopic`).
    alarms: Literal["email", "none"] = "email"
    #: Who hears of alarms; AWS asks the address for consent first.
    alarm_email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")] | None = None
    #: Dollars a month above which AWS writes to `alarm_email`; 0: it does not. RUNBOOK.md, "The budget".
    monthly_budget: Annotated[int, Field(ge=0)] = 100
    #: Whether ends of runs and changes of jobs are told on the bus; EventBridge takes a dollar for a million of them.
    events: Literal["bus", "none"] = "bus"
    #: None: nobody traces, and no code for it is deployed.
    tracing: Tracing | None = None
    #: An alarm rings when the 99th percentile of drift stays above it.
    drift_slo_ms: Annotated[int, Field(ge=1)] = 1500
    #: Name or ARN of a managed policy that no role here may exceed.
    permission_boundary: (
        Annotated[str, Field(pattern=r"^(arn:[\w-]+:iam::(\d{12}|aws):policy/)?[\w+=,.@/-]+$")] | None
    ) = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_lanes()
        if self.is_emulated and self.tracing is not None and self.tracing.is_sent_to_aws:
            raise ValueError(
                f"environment {self.name} has no X-Ray: set tracing.endpoint to a collector, "
                "such as http://127.0.0.1:4318/v1/traces"
            )
        if self.alarms == "none" and self.alarm_email is not None:
            raise ValueError("alarm_email means nothing where alarms is none: leave one of them out")
        tables = [table.name for table in TABLES]
        if self.restored_tables and set(self.restored_tables) != set(tables):
            raise ValueError(
                f"restored_tables of environment {self.name} must name each of {', '.join(tables)}, and no other: "
                "tables of two instants do not go together"
            )
        if self.scheduler.tasks < 1:
            raise ValueError("scheduler.tasks is 0: give at least 1, or nothing fires; the brake stops firing instead")
        if self.log_retention_days not in LOG_RETENTION_DAYS:
            raise ValueError(
                f"log_retention_days {self.log_retention_days} is none that CloudWatch Logs has: "
                f"choose {', '.join(map(str, LOG_RETENTION_DAYS))}"
            )
        if self.run_retention_days <= DEAD_LETTER_RETENTION_DAYS:
            raise ValueError(
                f"run_retention_days {self.run_retention_days} must exceed the {DEAD_LETTER_RETENTION_DAYS} days that "
                "a queue keeps a message, or a late duplicate would run again: set 15 or more"
            )
        if len(self.owner_concurrency) > MOST_NAMED_OWNERS:
            raise ValueError(
                f"owner_concurrency names {len(self.owner_concurrency)} owners, and workers can be told of "
                f'{MOST_NAMED_OWNERS}: name those that differ, and give the others one number as "*"'
            )
        self._check_variables()
        self._check_concurrency()
        return self

    def _check_variables(self) -> None:
        """Of the worker on Lambda, who is told two queues of each lane, by URL and by name."""
        own = [name for name in self.lanes if name not in LANES]
        owners = len(json.dumps(dict(self.owner_concurrency))) if self.owner_concurrency else 0
        if sum(400 + 6 * len(name) for name in own) + owners > _MOST_VARIABLE_BYTES:
            raise ValueError(
                f"environment {self.name} has {len(own)} lanes of its own and {len(self.owner_concurrency)} owners in "
                "owner_concurrency, more than the 4 KB of variables that Lambda gives a function can name: leave out "
                "some of either"
            )

    def _check_lanes(self) -> None:
        if missing := set(LANES) - set(self.lanes):
            raise ValueError(
                f"lanes of environment {self.name} must set each lane of {', '.join(LANES)}: add {', '.join(missing)}"
            )
        for name in self.lanes:
            if not LANE_NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no lane's name: use a small letter, then small letters and digits, 32 at most; "
                    "undelivered is taken"
                )
        if self.lanes[LONG_LANE].is_on_lambda:
            raise ValueError(
                f"lane {LONG_LANE} is for runs that Lambda would cut short: set lanes.{LONG_LANE}.host to ecs"
            )
        if any(lane.host == "ecs" for name, lane in self.lanes.items() if name != LONG_LANE) and self.worker.tasks < 1:
            raise ValueError(
                f"environment {self.name} has a lane on ecs and no worker task to work it: set worker.tasks to 1"
            )

    def _check_concurrency(self) -> None:
        wanted, reserved = self._concurrency_of_lanes, self.reserved_concurrency
        if reserved is not None and reserved < wanted:
            raise ValueError(
                f"worker_reserved_concurrency of {self.name} ({reserved}) is below that of its lanes together "
                f"({wanted}): they would be throttled, and their messages would come again; raise it to {wanted}, "
                "or write lanes"
            )

    @property
    def _concurrency_of_lanes(self) -> int:
        return sum(lane.concurrency for lane in self.lanes.values() if lane.is_on_lambda)

    @property
    def reserved_concurrency(self) -> int | None:
        """Of the account's, for the worker on Lambda alone."""
        asked = self.worker_reserved_concurrency
        return self._concurrency_of_lanes if asked == "lanes" else asked

    @property
    def longest_lead_ms(self) -> int:
        """What the lead may grow to before a herd. Three times a run may be held so long, and the second by which its
        message may be early besides, until its worker must renew its lease.
        """
        return min(LONGEST_LEAD_MS, self.worker_lease_seconds * 1000 // 3 - 1000)

    @property
    def ecs_lanes(self) -> tuple[str, ...]:
        return tuple(name for name, lane in self.lanes.items() if lane.host == "ecs")
