"""`python -P -m functions.scheduler.recovery restore` and `misfires`: RUNBOOK.md, "Restoring the tables"."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import Final

from functions.scheduler.recovery.forecast import Forecast, forecasts
from functions.scheduler.recovery.report import Misfires, lines_of
from functions.scheduler.recovery.restoring import Restore, newest_common, restore, targets_of
from functions.scheduler.recovery.wiring import Reach, reach, tables_of
from shared.domain.errors import CarillonError
from shared.domain.instants import SECOND, Instant, parse_rfc3339, to_rfc3339
from shared.ports import StoredEntry

FIRST_SHOWN: Final = 20
_FAILED: Final = 1


def misfires(reached: Reach) -> Misfires:
    """What the first owners of these tables would do now. Raises StoreError."""
    now, snapshot = reached.clock.now(), reached.fleet.snapshot()
    shards = range(snapshot.control.shard_count or 0)
    watermarks = {shard: snapshot.lease(shard).watermark for shard in shards}
    found: list[Forecast] = []
    unreadable: dict[str, str] = {}

    def put_aside(entry: StoredEntry, error: Exception) -> None:
        unreadable[entry.entry_id] = repr(error)

    for shard, watermark in watermarks.items():
        reads = (reached.entries.announced, reached.entries.parked)
        pages = (page for read in reads for page in read(shard, since=Instant(0), until=now))
        found += forecasts((entry for page in pages for entry in page), watermark, now, put_aside)
    return Misfires(snapshot.control.is_firing, now, watermarks, found, unreadable)


def _restore(chosen: Namespace) -> None:
    sources, targets = tables_of(chosen.stack), targets_of(chosen.prefix)
    reached = reach(targets)
    at = chosen.at if chosen.at is not None else newest_common(reached.backups, sources)
    _say(f"bringing {len(sources)} tables of {chosen.stack} back to {to_rfc3339(at)}; this takes a while")
    restore(reached.backups, reached.fleet, reached.clock, Restore(sources, targets, at), _say)
    _say("firing is off in the restored fleet. Deploy the service stack on the restored tables with")
    _say(f"  -c settings='{json.dumps({'restored_tables': targets})}'")
    _say("then look at `misfires`, and release the brake with `carillon firing on`")


def _misfires(chosen: Namespace) -> None:
    tables = targets_of(chosen.prefix) if chosen.prefix else tables_of(chosen.stack)
    for line in lines_of(misfires(reach(tables)), first=chosen.first):
        _say(line)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        chosen.command(chosen)
    except (CarillonError, LookupError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - talks to the terminal
        return _FAILED
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -P -m functions.scheduler.recovery", description="Back to an instant.")
    commands = parser.add_subparsers(required=True, metavar="restore|misfires")
    restoring = commands.add_parser("restore", help="all tables to one instant, under new names, with firing off")
    restoring.add_argument("--stack", required=True, help="the data stack, such as Carillon-prod-data")
    restoring.add_argument("--prefix", required=True, help="what the names of the restored tables begin with")
    restoring.add_argument(
        "--at", type=_instant, help="such as 2026-11-30T01:00:00Z; the newest there is when left out"
    )
    restoring.set_defaults(command=_restore)
    listing = commands.add_parser("misfires", help="what would fire, and what be skipped, were firing on")
    tables = listing.add_mutually_exclusive_group(required=True)
    tables.add_argument("--prefix", help="of restored tables")
    tables.add_argument("--stack", help="the data stack of other ones: what the brake holds back")
    listing.add_argument("--first", type=int, default=FIRST_SHOWN, help=f"how many to name ({FIRST_SHOWN})")
    listing.set_defaults(command=_misfires)
    return parser


def _instant(text: str) -> Instant:
    try:
        instant = parse_rfc3339(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no instant: write it as 2026-11-30T01:00:00Z") from None
    return Instant(instant - instant % SECOND)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
