"""What differs between the places Carillon is deployed to. Everything else is the same everywhere.

A deployment changes any of it by context: `-c settings='{"lanes": {"default": {"concurrency": 50}}}'`,
or the same object under `settings` in cdk.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from infra.settings import Environment, TaskSettings, override
from infra.settings.environment import lanes_on


class UnknownEnvironment(Exception):
    """The context names an environment that there is none of."""

    def __init__(self, name: object) -> None:
        self.name = name
        super().__init__(
            f"there is no environment {name!r}: choose {', '.join(ENVIRONMENTS)}, for example `-c environment=dev`"
        )


LOCAL = Environment(
    name="local",
    is_emulated=True,
    is_protected=False,
    shard_count=4,
    lanes=lanes_on("ecs", usual=2, others=2),
    worker=TaskSettings(tasks=1),
    # The emulator is one core, which the others would only wait for, and the workers behind them.
    senders=4,
    # One machine has one clock, and whoever tries out what happens when a worker dies does not wait for long.
    worker_lease_seconds=10,
    clock_bound_ms=1_000,
    internal_targets=("127.0.0.1:*", "localhost:*"),
    log_retention_days=1,
)
#: Half of the usual shards cost half of the sweeps, which are what an idle deployment reads.
DEV = Environment(name="dev", shard_count=8, log_retention_days=7)
PROD = Environment(
    name="prod",
    is_watched=True,
    lanes=lanes_on("lambda", usual=100, others=10),
    # When a node dies, the other takes over what it held before the fail-over's time is over: with a quarter of a core
    # a hundred thousand entries take a multiple of that (`make bench ONLY=quarter`). A deployment doubles them for some
    # minutes, and an account that nobody has raised runs ten vCPUs: three nodes hold 900,000 entries.
    scheduler=TaskSettings(most=3, cpu_units=1024, memory_mb=2048),
    log_retention_days=90,
)

ENVIRONMENTS: Mapping[str, Environment] = MappingProxyType({each.name: each for each in (LOCAL, DEV, PROD)})


def environment_named(name: object, settings: object = None) -> Environment:
    """Raises UnknownEnvironment, SettingsRefused."""
    if not isinstance(name, str) or name not in ENVIRONMENTS:
        raise UnknownEnvironment(name)
    environment = ENVIRONMENTS[name]
    return environment if settings is None else override(environment, settings)
