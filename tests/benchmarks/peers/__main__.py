"""The same work for what users would pick instead, beside Carillon's figures of the last `end_to_end` and `fail_over`.

    python -P -m tests.benchmarks.peers [--runs 3] [--only celery bullmq ...] [--scale 0.1] [--skip-fail-over]

Each peer runs in an environment of its own, made from this checkout's lock, over a Redis or PostgreSQL that is started
on the loopback for each run (Debian: redis-server, postgresql). What is not here is skipped with a word. One worker
process with the best settings that the peer's documentation offers; every job appends its id and the time to a file.
For fail-over two workers (or beats) run, one of which is killed five seconds into 200 jobs a second, with default
settings and with the best ones; what has not run 70 s after its time is lost here, though it may run later.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.domain.instants import SECOND
from tests.benchmarks.end_to_end.figures import Start, medians_of, recovery, resumed_seconds, summary
from tests.benchmarks.end_to_end.work import EACH_SECOND, HERD, SPREAD, Work
from tests.benchmarks.outcome import Bench, Cell, Result, Table, read_all, say
from tests.benchmarks.peers.peers import (
    APSCHEDULER,
    BULL,
    CELERY,
    PGQUEUER,
    REDBEAT,
    Outcome,
    Peer,
    PeerMissing,
    ServerMissing,
    run,
)

PEERS = (CELERY, APSCHEDULER, PGQUEUER, BULL)
WORKS: Mapping[Work, tuple[Peer, ...]] = {
    SPREAD: PEERS,
    HERD: PEERS,
    EACH_SECOND: (REDBEAT, APSCHEDULER, BULL),
}
#: Without the nodes of one each second: PgQueuer fires every other second.
FAIL_OVER = (CELERY, REDBEAT, BULL)
KILL_AFTER_SECONDS = 5.0

Found = dict[str, Any]


def measured(peer: Peer, work: Work, *, kill_after_seconds: float | None = None) -> Found:
    """Raises PeerMissing, ServerMissing."""
    outcome = run(peer, work, kill_after_seconds=kill_after_seconds)
    first_ms = outcome.answer["first_ms"]
    starts = [start for start in outcome.starts if start.due_ms < first_ms + max(work.seconds, 1) * 1000]
    starts = [start for start in starts if start.due_ms >= first_ms]
    if peer.driver == REDBEAT.driver:
        # Its schedule says how often and not when: a drift from whole seconds would be chance.
        found = {**summary(starts, expected=work.starts), "drift_ms": {}, "early": 0}
    else:
        found = summary(starts, expected=work.starts)
    return {
        **found,
        "submit_per_second": outcome.answer["submit_per_second"],
        "cpu_s": outcome.answer["cpu_seconds"],
        "server_cpu_s": outcome.server_cpu_seconds,
        **_recovered(peer, outcome, starts),
    }


def _recovered(peer: Peer, outcome: Outcome, starts: Sequence[Start]) -> dict[str, float]:
    killed_ms = outcome.answer.get("killed_ms")
    if killed_ms is None:
        return {}
    if peer.driver == REDBEAT.driver:
        return dict.fromkeys(("first_late_s", "normal_s"), resumed_seconds(starts, killed_ms=killed_ms))
    return {name: value or 0.0 for name, value in recovery(starts, killed_ms=killed_ms).items()}


def repeated(what: str, runs: int, peer: Peer, work: Work, *, kill_after_seconds: float | None = None) -> Found | None:
    """Medians; None: the peer is not here."""
    found = []
    for _ in range(runs):
        try:
            found.append(measured(peer, work, kill_after_seconds=kill_after_seconds))
        except (PeerMissing, ServerMissing) as missing:
            say(f"  {what}: skipped, {missing}")
            return None
        say(f"  {what}: {found[-1]}")
    return medians_of(found)


def table_of(work: Work, rows: Mapping[Peer, Found], carillon: Result | None) -> Table:
    ours = {} if carillon is None else carillon.figures
    mine = [ours.get(f"{work.name}_drift_{share}_ms") for share in ("p50", "p99", "max")]
    cells: list[Sequence[Cell]] = [
        (
            "Carillon, all of the local stack",
            *mine,
            1.0,
            None if work.seconds else ours.get(f"{work.name}_last_start_ms", 0) / SECOND,
            ours.get(f"{work.name}_lost"),
            ours.get(f"{work.name}_submit_per_s"),
            sum(ours.get(f"{work.name}_{who}_cpu_s", 0) for who in ("scheduler", "worker")),
            ours.get(f"{work.name}_emulator_cpu_s"),
        )
    ]
    for peer, found in rows.items():
        drift = found["drift_ms"]
        ratio = drift["p99"] / mine[1] if mine[1] and drift else None
        shares = (drift.get(share) for share in ("p50", "p99", "max"))
        drain = None if work.seconds else found["drain_s"]
        costs = (found["lost"], found["submit_per_second"], found["cpu_s"], found["server_cpu_s"])
        cells.append((peer.title, *shares, ratio, drain, *costs))
    return Table(
        f"Peers: {work.title}",
        (
            "",
            "p50, ms",
            "p99, ms",
            "max, ms",
            "p99 / ours",
            "last start, s",
            "lost",
            "created/s",
            "CPU s",
            "its store's",
        ),
        cells,
    )


def fail_over_table(rows: Mapping[tuple[Peer, str], Found], carillon: Result | None) -> Table:
    ours = {} if carillon is None else carillon.figures
    late = (ours.get(name, 0) / SECOND for name in ("first_late_ms", "normal_ms"))
    cells: list[Sequence[Cell]] = [
        ("Carillon, its node killed", "default", *late, ours.get("lost"), ours.get("duplicates"))
    ]
    for (peer, style), found in rows.items():
        cells.append((peer.title, style, *(found[name] for name in ("first_late_s", "normal_s", "lost", "duplicates"))))
    return Table(
        f"Peers: {EACH_SECOND.title}, one of two is killed (kill -9)",
        ("", "settings", "first late start, s", "drift normal after, s", "lost", "twice"),
        cells,
        "Lost: not run 70 s after the last slot. Celery with default settings runs it an hour later.",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = sorted({peer.name for peer in (*PEERS, *FAIL_OVER)})
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--skip-fail-over", action="store_true")
    asked = parser.parse_args()
    # However it is ended, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    bench = Bench("peers")
    ours = read_all()
    tables = []
    figures: dict[str, float] = {}
    for work, peers in WORKS.items():
        rows: dict[Peer, Found] = {}
        for peer in (each for each in peers if each.name in asked.only):
            given = work.scaled(asked.scale)
            found = repeated(f"{peer.name}, {work.name}", asked.runs, peer, given)
            if found is not None:
                rows[peer] = found
                figures |= {f"{peer.name}_{work.name}_{share}_ms": value for share, value in found["drift_ms"].items()}
        tables.append(table_of(work, rows, ours.get("end_to_end")))
    if not asked.skip_fail_over:
        tables.append(fail_over_table(fail_overs(asked), ours.get("fail_over")))
    if asked.scale == 1.0 and asked.only == names and not asked.skip_fail_over:
        bench.report(runs=asked.runs, figures=figures, tables=tables)
    else:
        for table in tables:
            say(*table.lines(), "")
    return 0


def fail_overs(asked: argparse.Namespace) -> dict[tuple[Peer, str], Found]:
    rows = {}
    work = EACH_SECOND.scaled(asked.scale)
    for peer in (each for each in FAIL_OVER if each.name in asked.only):
        for style in ("default", "tuned"):
            one = replace(peer, style=style)
            what = f"{peer.name}, {style}, killed"
            found = repeated(what, asked.runs, one, work, kill_after_seconds=KILL_AFTER_SECONDS)
            if found is not None:
                rows[one, style] = found
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
