from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Final, get_args

from carillon.cli.commands import Commands, limit_option, schedule_of, schedule_options, tag
from carillon.cli.output import Failure, Shown, first_of
from carillon.client import Client
from carillon.client.run_documents import Kind, Status

COLUMNS: Final = (
    "run_id",
    "kind",
    "status",
    "reason",
    "started_at",
    "drift_ms.total",
    "attempt",
    "http_status",
    "error.message",
)
_FAILED: Final = ("job_id", "run_id", "status", "ended_at", "attempt", "http_status", "error.type", "error.message")
_STATUSES: Final = get_args(Status)
_KINDS: Final = get_args(Kind)
_REDRIVEN: Final = ("job_id", "run_id", "outcome", "starts_at")
_BACKFILLED: Final = ("slot", "run_id", "outcome")
_SLOTS: Final = ("slot", "local", "fires", "marks")


def register(commands: Commands) -> None:
    listed = commands.add("runs list", list_runs, "list the runs of a job, newest first")
    listed.add_argument("job_id")
    listed.add_argument("--status", action="append", default=[], choices=_STATUSES, help="may be repeated")
    listed.add_argument("--kind", choices=_KINDS)
    listed.add_argument("--since", metavar="INSTANT", help="whose slot is then or later")
    listed.add_argument("--until", metavar="INSTANT", help="whose slot is before")
    limit_option(listed)
    for word, about, run in (
        ("get", "show a run", get_run),
        ("cancel", "cancel a run", cancel_run),
        ("retry", "run a run again", retry_run),
        ("wait", "wait until a run has ended; the newest, if none is named", wait_for_run),
    ):
        parser = commands.add(f"runs {word}", run, about)
        parser.add_argument("job_id")
        parser.add_argument("run_id", nargs="?" if word == "wait" else None)
        if word == "wait":
            parser.add_argument("--within", type=float, default=60.0, metavar="SECONDS")
    backfilled = commands.add("backfill", backfill, "run the past slots of a job")
    backfilled.add_argument("job_id")
    backfilled.add_argument("--since", required=True, metavar="INSTANT")
    backfilled.add_argument("--until", metavar="INSTANT", help="exclusive; now")
    backfilled.add_argument("--dry-run", action="store_true")
    failed = commands.add("failed", list_failed, "list failed runs, newest first")
    _failures(failed)
    limit_option(failed)
    again = commands.add("redrive", redrive, "run failed runs again")
    _failures(again)
    again.add_argument("--all", dest="everything", action="store_true", help="whatever failed, instead of some")
    again.add_argument("--dry-run", action="store_true", help="only show which")
    again.add_argument("--rate", type=float, metavar="N", help="starts a second (10)")
    again.add_argument("--limit", type=int, metavar="N", help="at most N runs (100)")
    again.add_argument("--cursor", help="go on where another redrive ended")
    previewed = commands.add("preview", preview, "show what a schedule would do")
    schedule_options(previewed, is_required=True)
    previewed.add_argument("--count", type=int, metavar="N")
    previewed.add_argument("--after", metavar="INSTANT")
    previewed.add_argument("--until", metavar="INSTANT")


def list_runs(client: Client, chosen: Namespace) -> Shown:
    found = client.runs(chosen.job_id, statuses=chosen.status, kind=chosen.kind, since=chosen.since, until=chosen.until)
    return first_of(found, chosen.limit, COLUMNS)


def get_run(client: Client, chosen: Namespace) -> Shown:
    return Shown(client.get_run(chosen.job_id, chosen.run_id))


def cancel_run(client: Client, chosen: Namespace) -> Shown:
    run = client.cancel_run(chosen.job_id, chosen.run_id)
    is_told = run["ended_at"] is None
    return Shown(run, note="its worker is told, and it ends within some seconds: carillon runs wait" if is_told else "")


def retry_run(client: Client, chosen: Namespace) -> Shown:
    return Shown(client.retry_run(chosen.job_id, chosen.run_id))


def wait_for_run(client: Client, chosen: Namespace) -> Shown:
    run = client.wait_for_run(chosen.job_id, chosen.run_id, timeout=chosen.within)
    if run["status"] != "succeeded":
        raise Failure(Shown(run))
    return Shown(run)


def backfill(client: Client, chosen: Namespace) -> Shown:
    done = client.backfill(chosen.job_id, since=chosen.since, until=chosen.until, dry_run=chosen.dry_run)
    more = f"; go on with --since {done['next_from']}" if done["next_from"] else ""
    counted = f"{done['planned']} {'would be' if done['dry_run'] else 'are'} planned"
    return Shown(done if chosen.json else done["items"], _BACKFILLED, f"{counted}{more}")


def list_failed(client: Client, chosen: Namespace) -> Shown:
    return first_of(client.failed_runs(**_chosen(chosen)), chosen.limit, _FAILED)


def redrive(client: Client, chosen: Namespace) -> Shown:
    done = client.redrive(
        **_chosen(chosen),
        everything=chosen.everything,
        rate=chosen.rate,
        dry_run=chosen.dry_run,
        limit=chosen.limit,
        cursor=chosen.cursor,
    )
    more = f"; go on with --cursor {done['next_cursor']}" if done["next_cursor"] else ""
    is_dry = done["dry_run"]
    counted = f"{done['planned']} would run" if is_dry else f"{done['redriven']} run"
    return Shown(done if chosen.json else done["items"], _REDRIVEN, f"{counted} again{more}")


def preview(client: Client, chosen: Namespace) -> Shown:
    schedule = schedule_of(chosen)
    assert schedule is not None  # one of its options is required
    return Shown(client.preview(schedule, count=chosen.count, after=chosen.after, until=chosen.until), _SLOTS)


def _failures(parser: ArgumentParser) -> None:
    parser.add_argument("--job", dest="job_id", metavar="JOB_ID")
    parser.add_argument("--error-type", metavar="TYPE")
    parser.add_argument("--group", help="of the job")
    parser.add_argument("--tag", type=tag, action="append", default=[], metavar="NAME:VALUE", help="of the job")
    parser.add_argument("--since", metavar="INSTANT", help="that ended then or later")
    parser.add_argument("--until", metavar="INSTANT", help="that ended before")


def _chosen(chosen: Namespace) -> dict[str, Any]:
    names = ("job_id", "error_type", "group", "since", "until")
    return {name: getattr(chosen, name) for name in names} | {"tags": dict(chosen.tag)}
