"""What a process is told by its environment. Names only: values are read once, in a `wiring.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.schema import LANES, TABLES

#: Tells the metrics of this deployment from those of another one in the same account.
DEPLOYMENT_VARIABLE = "CARILLON_DEPLOYMENT"

#: The folder in which a process gives signs of life; without it there are none.
PULSE_FOLDER_VARIABLE = "CARILLON_PULSE_FOLDER"

#: For tests of a whole stack alone: a file with the milliseconds by which a node's wall clock is to be wrong.
CLOCK_ERROR_VARIABLE = "CARILLON_CLOCK_ERROR_FILE"

#: Modules whose import registers handlers, as a comma list, and the folder that they are in; a relative one begins at
#: the folder of the worker's own code.
HANDLERS_VARIABLE = "CARILLON_HANDLERS"
HANDLERS_FOLDER_VARIABLE = "CARILLON_HANDLERS_FOLDER"
#: For the API: the names of all handlers that the workers have, as a JSON array; not set where they are not known.
HANDLER_NAMES_VARIABLE = "CARILLON_HANDLER_NAMES"
#: How many shards a fleet has, unless its environment says otherwise.
DEFAULT_SHARD_COUNT = 16
#: `host:port`, as a comma list: webhooks that may be called although their address is not public.
INTERNAL_TARGETS_VARIABLE = "CARILLON_INTERNAL_TARGETS"

#: How many runs of an owner may go on at once: a JSON object by owner_id, `*` for every owner that it does not name.
OWNER_CONCURRENCY_VARIABLE = "CARILLON_OWNER_CONCURRENCY"
#: Of the numbers in it.
MOST_OF_OWNER = 1_000


class ConfigurationMissing(Exception):
    """A process was started without a variable it cannot do without."""

    def __init__(self, variable: str) -> None:
        self.variable = variable
        super().__init__(f"environment variable {variable} is not set")


def table_variable(logical_name: str) -> str:
    """`CARILLON_JOB_RUNS_TABLE`, which carries the physical name of table `job_runs`."""
    return f"CARILLON_{logical_name.upper()}_TABLE"


def queue_variable(lane: str) -> str:
    """`CARILLON_DEFAULT_QUEUE_URL`, which carries the URL of lane `default`."""
    return f"CARILLON_{lane.upper()}_QUEUE_URL"


#: The name of the bus for lifecycle events; empty: none are told.
EVENT_BUS_VARIABLE = "CARILLON_EVENT_BUS"

#: The URL of the queue of messages that the lanes' queues gave up.
UNDELIVERED_VARIABLE = "CARILLON_UNDELIVERED_QUEUE_URL"


def dead_letter_variable(lane: str) -> str:
    """`CARILLON_DEFAULT_DEAD_LETTER_QUEUE_URL`, which carries the URL of the dead letters of lane `default`."""
    return f"CARILLON_{lane.upper()}_DEAD_LETTER_QUEUE_URL"


#: The lanes of this deployment, as a comma list, for whoever is told of no queue.
LANES_VARIABLE = "CARILLON_LANES"

#: Webhooks whose answers a lane of a worker waits for at once.
WEBHOOKS_VARIABLE = "CARILLON_WORKER_WEBHOOKS"

#: What the lead may grow to before a herd, in ms, and the lanes whose workers hold runs for so long (a comma list).
LONGEST_LEAD_VARIABLE = "CARILLON_LONGEST_LEAD_MS"
HOLDING_LANES_VARIABLE = "CARILLON_HOLDING_LANES"

#: Of requests and fires, how many are traced: 0 to 1. Nothing, and no code for it is loaded, when it is not set.
TRACED_SHARE_VARIABLE = "CARILLON_TRACED_SHARE"
#: The URL that takes spans in OTLP by HTTP.
TRACES_ENDPOINT_VARIABLE = "CARILLON_TRACES_ENDPOINT"


#: A lane's name has letters and digits, so that of its dead letters is none of a lane.
_QUEUE = re.compile(r"CARILLON_(?!UNDELIVERED_)([A-Z][A-Z0-9]*)_QUEUE_URL")
_DEAD_LETTERS = re.compile(r"CARILLON_([A-Z][A-Z0-9]*)_DEAD_LETTER_QUEUE_URL")


@dataclass(frozen=True, slots=True)
class TableNames:
    """Physical table names; a deployable that has no right to a table is not told its name."""

    jobs: str = ""
    job_schedules: str = ""
    job_runs: str = ""
    fleet: str = ""
    access: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> TableNames:
        return cls(**{name: environment.get(table_variable(name), "") for name in cls.__slots__})


def queue_urls(environment: Mapping[str, str]) -> dict[str, str]:
    """The URL of every lane this process is told of."""
    found = (_QUEUE.fullmatch(name) for name in environment)
    lanes = {match[1].lower() for match in found if match is not None}
    return {lane: url for lane in in_order(lanes) if (url := environment[queue_variable(lane)])}


def in_order(lanes: Iterable[str]) -> list[str]:
    """Those that every deployment has first, in their order."""
    return sorted(lanes, key=lambda lane: (LANES.index(lane) if lane in LANES else len(LANES), lane))


def lanes(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Of this deployment, whoever works them."""
    listed = environment.get(LANES_VARIABLE)
    return tuple(listed.split(",")) if listed else LANES


def queue_names(environment: Mapping[str, str]) -> dict[str, str]:
    """The lane of each queue's name, the last part of its URL and of its ARN."""
    return {url.rpartition("/")[2]: lane for lane, url in queue_urls(environment).items()}


def dead_letter_urls(environment: Mapping[str, str]) -> dict[str, str]:
    """The URL of the dead letters of every lane this process is told of."""
    found = (_DEAD_LETTERS.fullmatch(name) for name in environment)
    lanes = {match[1].lower() for match in found if match is not None}
    return {lane: url for lane in in_order(lanes) if (url := environment[dead_letter_variable(lane)])}


def handler_names(environment: Mapping[str, str]) -> frozenset[str] | None:
    """None: nobody could tell. Raises ValueError."""
    listed = environment.get(HANDLER_NAMES_VARIABLE)
    return frozenset(json.loads(listed)) if listed else None


def required(environment: Mapping[str, str], variable: str) -> str:
    """Raises ConfigurationMissing."""
    value = environment.get(variable)
    if not value:
        raise ConfigurationMissing(variable)
    return value


def pulse_folder(environment: Mapping[str, str]) -> Path | None:
    folder = environment.get(PULSE_FOLDER_VARIABLE)
    return Path(folder) if folder else None


def shard_count(environment: Mapping[str, str]) -> int:
    return int(environment.get("CARILLON_SHARD_COUNT", DEFAULT_SHARD_COUNT))


def traced_share(environment: Mapping[str, str]) -> float:
    """Raises ValueError."""
    share = float(environment.get(TRACED_SHARE_VARIABLE) or 0)
    if not 0 <= share <= 1:
        raise ValueError(f"{TRACED_SHARE_VARIABLE} is {share}; it is a number from 0 to 1")
    return share


def deployment(environment: Mapping[str, str]) -> str:
    return environment.get(DEPLOYMENT_VARIABLE, "unnamed")


def metrics_namespace(environment: Mapping[str, str]) -> str:
    """Where CloudWatch keeps the metrics of this deployment."""
    return namespace_of(deployment(environment))


def namespace_of(deployment: str) -> str:
    return f"Carillon/{deployment}"


def version(environment: Mapping[str, str]) -> str:
    """Which release this process is; what `/v1/health` and the rows of nodes tell."""
    return environment.get("CARILLON_VERSION", "unreleased")


def http_needs_grant(environment: Mapping[str, str]) -> bool:
    """CARILLON_HTTP_GRANTS: `required` when even a public host is called only with a grant; `open`, or nothing, if not.

    Raises ValueError.
    """
    value = environment.get("CARILLON_HTTP_GRANTS") or "open"
    if value not in {"open", "required"}:
        raise ValueError(f"CARILLON_HTTP_GRANTS is open or required, not {value!r}")
    return value == "required"


def owner_maximums(environment: Mapping[str, str]) -> dict[str, int]:
    """By owner_id, or `*`. Raises ValueError."""
    given = json.loads(environment.get(OWNER_CONCURRENCY_VARIABLE) or "{}")
    if not isinstance(given, dict) or not all(
        type(maximum) is int and 1 <= maximum <= MOST_OF_OWNER for maximum in given.values()
    ):
        raise ValueError(
            f"{OWNER_CONCURRENCY_VARIABLE} is an object of whole numbers from 1 to {MOST_OF_OWNER} by owner_id, such as"
            f' {{"*": 50}}, not {given!r}'
        )
    return given


def own_resources(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names of Carillon's own queues, tables and functions, which no job may call: all that this process is told
    of, and CARILLON_OWN_RESOURCES, a comma list in which a name may end in `*`.
    """
    listed = [name.strip() for name in environment.get("CARILLON_OWN_RESOURCES", "").split(",")]
    tables = [environment.get(table_variable(table.name), "") for table in TABLES]
    queues = [url.rpartition("/")[2] for url in queue_urls(environment).values()]
    return tuple(filter(None, [*listed, *tables, *queues, environment.get("AWS_LAMBDA_FUNCTION_NAME", "")]))


def region(environment: Mapping[str, str]) -> str:
    """Where this deployment is. Lambda and ECS set it; on no account a place of its own."""
    return environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
