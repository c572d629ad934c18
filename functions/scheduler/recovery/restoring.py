"""All tables back to one instant, under new names, with the brake on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from shared.domain.instants import SECOND, Instant
from shared.ports import Clock, FleetStore
from shared.schema import TABLES

#: A restore takes from minutes to hours.
LOOK_SECONDS: Final = 10.0


class Backups(Protocol):
    """Point-in-time recovery, as `shared.adapters.dynamodb.backups` has it."""

    def newest(self, table: str) -> Instant: ...

    def begin(self, source: str, target: str, at: Instant) -> None: ...

    def is_ready(self, target: str) -> bool: ...

    def complete(self, target: str, *, ttl: str | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Restore:
    """`sources` and `targets` are physical names by logical name. `at` is a whole second, as backups have it."""

    sources: Mapping[str, str]
    targets: Mapping[str, str]
    at: Instant


def targets_of(prefix: str) -> dict[str, str]:
    """The names that restored tables get."""
    return {table.name: f"{prefix}-{table.name}" for table in TABLES}


def newest_common(backups: Backups, sources: Mapping[str, str]) -> Instant:
    """The newest whole second to which every table can be brought back. Raises StoreError."""
    newest = min(backups.newest(source) for source in sources.values())
    return Instant(newest - newest % SECOND)


def restore(backups: Backups, fleet: FleetStore, clock: Clock, asked: Restore, say: Callable[[str], None]) -> None:
    """Returns once every table is ready and the brake is on in the restored fleet. May be repeated: it goes on.

    Raises StoreError: the brake may not be on yet, and nothing must be deployed on these tables.
    """
    for name, source in asked.sources.items():
        backups.begin(source, asked.targets[name], asked.at)
    for table in TABLES:
        target = asked.targets[table.name]
        while not backups.is_ready(target):
            clock.sleep(LOOK_SECONDS)
        backups.complete(target, ttl=table.ttl)
        say(f"{target} is ready")
    fleet.set_firing(is_firing=False)
    for node_id in fleet.snapshot().nodes:
        # They beat in the other table, if at all.
        fleet.remove_node(node_id)
