"""`make demo`: the whole system on this machine, seen by a client over HTTP.

Four jobs: one time, every two seconds, a cron job with a time zone, and one that calls a webhook. It succeeds only if
every run that was promised succeeded, exactly once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from carillon.client import CarillonError, Client, NewJob, Run, Schedule, cron, every, in_
from localstack.client import client_of
from localstack.receiver import Receiver, receiver
from localstack.stack import borrowed
from localstack.terminal import EXPECTED, say

TICKS = 5
#: The last promised run is ten seconds away; the rest is for a slow machine.
PATIENCE_SECONDS = 45.0
LOOK_SECONDS = 0.5

ECHO = {"type": "handler", "name": "echo"}


@dataclass
class Promise:
    """A job, and how many runs of it must succeed; `seen` are its runs as last listed, oldest first."""

    title: str
    job: NewJob
    runs: int
    seen: list[Run] = field(default_factory=list)

    @property
    def job_id(self) -> str:
        return self.job["job_id"]

    @property
    def is_kept(self) -> bool:
        """Every promised slot ran once, and each at its first attempt."""
        done = [run for run in self.seen if run["status"] == "succeeded" and run["attempt"] == 1]
        return len(done) == len(self.seen) == len({run["slot"] for run in done}) == self.runs

    @property
    def is_over(self) -> bool:
        return len([run for run in self.seen if run["status"] not in {"running", "waiting"}]) >= self.runs


def main(_arguments: Sequence[str] = ()) -> int:
    try:
        with borrowed(say=say) as stack, receiver() as webhook, client_of(stack) as client:
            return show(client, webhook, suffix=str(time.time_ns() // 1_000_000))
    except (*EXPECTED, CarillonError) as failure:
        say(f"problem: {failure}")
        return 1


def show(client: Client, webhook: Receiver, *, suffix: str) -> int:
    """Create, watch, tell. `suffix` keeps the ids of two demos on one stack apart."""
    promises = [
        Promise("a one-time job, 5 s ahead", job("once", suffix, in_("PT5S"), ECHO), 1),
        Promise(f"every 2 s, {TICKS} times", job("tick", suffix, every("PT2S", max_runs=TICKS), ECHO), TICKS),
        Promise(
            "a webhook, 5 s ahead",
            job("webhook", suffix, in_("PT5S"), {"type": "http", "url": f"{webhook.url}/hook"}),
            1,
        ),
    ]
    for promise in promises:
        created = client.create_job(**promise.job)
        say(f"created   {promise.job_id:<24} {promise.title}; next {', '.join(created['next_slots'][:2])}")
    show_cron(client, suffix)
    watch(client, promises)
    say(table(promises))
    return verdict(promises, webhook)


def job(name: str, suffix: str, schedule: Schedule, target: dict[str, Any]) -> NewJob:
    return {
        "job_id": f"demo-{name}-{suffix}",
        "name": f"Demo: {name}",
        "schedule": schedule,
        "target": target,
        "payload": {"hello": name},
    }


def show_cron(client: Client, suffix: str) -> None:
    created = client.create_job(**job("cron", suffix, cron("0 9 * * MON-FRI", timezone="Europe/Berlin"), ECHO))
    say(f"created   {created['job_id']:<24} 09:00 in Berlin on weekdays; next (UTC):")
    for slot in created["next_slots"]:
        say(f"          {'':<24} {slot}")
    deleted = client.delete_job(created["job_id"])
    say(f"deleted   {created['job_id']:<24} {deleted['outcome']}")
    if deleted["outcome"] != "cancelled_before_fire":
        raise SystemExit(f"the cron job was to be cancelled before it fired, but: {deleted}")


def watch(client: Client, promises: list[Promise], *, tick: Callable[[float], None] = time.sleep) -> None:
    """Ask for the runs until all are over, and say each as it ends."""
    told: set[tuple[str, str]] = set()
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up_at and not all(promise.is_over for promise in promises):
        tick(LOOK_SECONDS)
        for promise in promises:
            promise.seen = list(client.runs(promise.job_id))[::-1]
            for run in promise.seen:
                if run["ended_at"] is not None and (promise.job_id, run["run_id"]) not in told:
                    told.add((promise.job_id, run["run_id"]))
                    say(f"{run['status']:<9} {promise.job_id:<24} slot {run['slot']}, drift {drift(run)} ms")


def drift(run: Run) -> str:
    return "-" if run["drift_ms"] is None else str(run["drift_ms"]["total"])


def table(promises: list[Promise]) -> str:
    rows = [("job", "slot", "started", "drift ms", "status", "attempt")]
    rows += [
        (promise.job_id, run["slot"], run["started_at"] or "-", drift(run), run["status"], str(run["attempt"]))
        for promise in promises
        for run in promise.seen
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(["", lines[0], "  ".join("-" * width for width in widths), *lines[1:], ""])


def verdict(promises: list[Promise], webhook: Receiver) -> int:
    broken = [promise.title for promise in promises if not promise.is_kept]
    if len(webhook.requests) != 1:
        broken.append(f"the webhook received {len(webhook.requests)} requests instead of 1")
    if broken:
        say("not as promised: " + "; ".join(broken))
        return 1
    say(f"all {sum(promise.runs for promise in promises)} promised runs succeeded exactly once")
    return 0
