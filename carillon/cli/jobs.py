from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Final

from carillon.cli.commands import Commands, json_object, json_value, limit_option, schedule_of, schedule_options, tag
from carillon.cli.output import Failure, Shown, erased, first_of
from carillon.client import Client

COLUMNS: Final = ("job_id", "state", "next_slots", "last_runs.0.status", "group", "name")
_CHANGED: Final = ("job_id", "status", "state", "outcome", "problem.detail")


def register(commands: Commands) -> None:
    create = commands.add("jobs create", create_job, "create a job")
    create.add_argument("job_id", nargs="?", help="made by the API when it is left out")
    instead = create.add_mutually_exclusive_group()
    instead.add_argument("--put", action="store_true", help="change the job of that id if there is one")
    instead.add_argument("--create-only", action="store_true", help="refuse, and change nothing, if there is one")
    _definition(create)
    listed = commands.add("jobs list", list_jobs, "list jobs, newest first")
    listed.add_argument("--state", choices=["active", "paused", "completed", "cancelled"])
    listed.add_argument("--name-prefix", metavar="TEXT")
    _selection(listed)
    limit_option(listed)
    commands.add("jobs get", lambda client, chosen: Shown(client.get_job(chosen.job_id)), "show a job").add_argument(
        "job_id"
    )
    delete = commands.add("jobs delete", delete_job, "cancel a job and free its id")
    delete.add_argument("job_id")
    delete.add_argument("--purge", action="store_true", help="erase its runs too")
    for word, about in (("pause", "start nothing of a job"), ("resume", "go on with a job, from now")):
        changed = commands.add(f"jobs {word}", set_state, f"{about}; or of the jobs of a group or tag")
        changed.add_argument("job_id", nargs="?")
        _selection(changed)
        changed.set_defaults(word=word)
    cancelled = commands.add("jobs cancel", set_state, "cancel the jobs of a group or tag")
    _selection(cancelled)
    cancelled.set_defaults(word="cancel", job_id=None)
    run = commands.add("jobs run", run_job, "run a job now")
    run.add_argument("job_id")
    run.add_argument("--payload", type=json_value, default=..., metavar="JSON", help="instead of the job's, or @FILE")
    run.add_argument("--wait", type=float, metavar="SECONDS", help="until it has ended")
    explain = commands.add("jobs explain", explain_slot, "say why a slot ran, runs, or does not")
    explain.add_argument("job_id")
    which = explain.add_mutually_exclusive_group()
    which.add_argument("--slot", metavar="INSTANT")
    which.add_argument("--run", dest="run_id", metavar="RUN_ID")


def create_job(client: Client, chosen: Namespace) -> Shown:
    definition: dict[str, Any] = dict(chosen.definition or {})
    schedule = schedule_of(chosen)
    given = {
        "schedule": schedule,
        "target": _target_of(chosen),
        "name": chosen.name,
        "group": chosen.group,
        "tags": dict(chosen.tag) or None,
    }
    definition |= {name: value for name, value in given.items() if value is not None}
    if chosen.payload is not ...:
        definition["payload"] = chosen.payload
    job_id = chosen.job_id or definition.pop("job_id", None)
    definition.pop("job_id", None)
    if "schedule" not in definition or "target" not in definition:
        raise ValueError("a job needs a schedule (--cron, --every, --in, --at) and a target (--url-target, --handler)")
    if chosen.put or chosen.create_only:
        if job_id is None:
            raise ValueError("--put and --create-only need a job_id")
        return Shown(client.put_job(job_id, create_only=chosen.create_only, **definition))
    return Shown(client.create_job(job_id=job_id, **definition))


def list_jobs(client: Client, chosen: Namespace) -> Shown:
    found = client.list_jobs(
        state=chosen.state, group=chosen.group, tags=dict(chosen.tag), name_prefix=chosen.name_prefix, last_runs=1
    )
    return first_of(found, chosen.limit, COLUMNS)


def delete_job(client: Client, chosen: Namespace) -> Shown:
    cancellation = client.delete_job(chosen.job_id, purge=chosen.purge)
    return erased(cancellation, is_done="purge" not in cancellation or cancellation["purge"]["is_done"])


def set_state(client: Client, chosen: Namespace) -> Shown:
    is_selection = chosen.group is not None or bool(chosen.tag)
    if (chosen.job_id is not None) == is_selection:
        raise ValueError("name a job, or --group and --tag: one of both")
    if chosen.job_id is not None:
        return Shown(client.pause(chosen.job_id) if chosen.word == "pause" else client.resume(chosen.job_id))
    change = {"pause": client.pause_jobs, "resume": client.resume_jobs, "cancel": client.cancel_jobs}[chosen.word]
    items = change(group=chosen.group, tags=dict(chosen.tag))
    shown = Shown(items, _CHANGED)
    if any("problem" in item for item in items):
        raise Failure(shown)
    return shown


def run_job(client: Client, chosen: Namespace) -> Shown:
    run = client.run_now(chosen.job_id, **({} if chosen.payload is ... else {"payload": chosen.payload}))
    if chosen.wait is None:
        return Shown(run)
    ended = client.wait_for_run(chosen.job_id, run["run_id"], timeout=chosen.wait)
    if ended["status"] != "succeeded":
        raise Failure(Shown(ended))
    return Shown(ended)


def explain_slot(client: Client, chosen: Namespace) -> Shown:
    return Shown(client.explain(chosen.job_id, slot=chosen.slot, run_id=chosen.run_id))


def _definition(parser: ArgumentParser) -> None:
    schedule_options(parser, is_required=False)
    target = parser.add_argument_group("target").add_mutually_exclusive_group()
    target.add_argument("--url-target", metavar="URL", help="a webhook to POST to")
    target.add_argument("--handler", metavar="NAME", help="a function in the worker")
    target.add_argument("--target", type=json_object, metavar="JSON", help="any target, or @FILE")
    parser.add_argument("--payload", type=json_value, default=..., metavar="JSON", help="or @FILE")
    parser.add_argument("--name")
    _selection(parser)
    about = "everything else a job can say, or @FILE, or @- for the standard input"
    parser.add_argument("--definition", type=json_object, metavar="JSON", help=about)


def _selection(parser: ArgumentParser) -> None:
    parser.add_argument("--group")
    parser.add_argument("--tag", type=tag, action="append", default=[], metavar="NAME:VALUE", help="may be repeated")


def _target_of(chosen: Namespace) -> dict[str, Any] | None:
    if chosen.url_target:
        return {"type": "http", "url": chosen.url_target}
    if chosen.handler:
        return {"type": "handler", "name": chosen.handler}
    target: dict[str, Any] | None = chosen.target
    return target
