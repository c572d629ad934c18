"""Does a deployment do its job: one job through it, from the request to the stored end, in less than two minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from carillon.client import Client
from carillon.client.errors import CarillonError, Forbidden, InvalidRequest, JobNotFound
from infra.prove.findings import Finding, Verdict

#: Of every job that a proof makes.
PREFIX = "carillon-proof"
#: A function of its own lane starts cold, behind a poller that paused.
_PATIENCE_SECONDS = 60.0
#: Where a cloud tells its instances their credentials.
_METADATA_URL = "http://169.254.169.254/latest/meta-data/"
_HANDLER = {"type": "handler", "name": "echo"}


class Disappointed(Exception):
    """The deployment answered, and otherwise than it should."""


def prove_smoke(client: Client, name: str, *, webhook: str | None) -> Iterator[Finding]:
    """`name` is of this proof alone; `webhook` a public URL that answers a POST with 2xx.

    Its jobs have ended afterwards, and their runs are erased; what is left of the jobs expires within a day or so.
    """
    yield _tried("the API answers", lambda: _healthy(client))
    yield _tried("every shard has an owner that is alive", lambda: _owned(client))
    yield _tried("a job fires, and its run succeeds", lambda: _fires(client, f"{PREFIX}-{name}-echo", _HANDLER))
    yield _tried("no target at the metadata address", lambda: _refuses(client, f"{PREFIX}-{name}-metadata"))
    what = "a webhook to a public address"
    if webhook is None:
        yield Finding("smoke", what, Verdict.NOT_SHOWN, "name one that answers 2xx by --webhook")
        return
    target = {"type": "http", "url": webhook}
    yield _tried(what, lambda: _fires(client, f"{PREFIX}-{name}-webhook", target))


def _tried(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding("smoke", what, Verdict.PASSED, look())
    except (CarillonError, Disappointed) as failure:
        return Finding("smoke", what, Verdict.FAILED, f"{type(failure).__name__}: {failure}")


def _healthy(client: Client) -> str:
    health = client.health()
    return f"{health['status']}, release {health['version']}, time zones {health['tzdata']}"


def _owned(client: Client) -> str:
    fleet = client.fleet()
    # Whoever answers may look for the first time, and then knows of nobody whether he is alive.
    silent = {node["node_id"] for node in fleet["nodes"] if node["status"] == "silent"}
    unowned = [each["shard"] for each in fleet["shards"] if each["owner"] is None or each["owner"] in silent]
    if unowned or len(fleet["shards"]) < fleet["shard_count"]:
        raise Disappointed(f"{len(fleet['shards'])} of {fleet['shard_count']} shards are known, not owned: {unowned}")
    if not fleet["firing"]:
        raise Disappointed("firing is off: carillon firing on")
    return f"{fleet['shard_count']} shards, {len(fleet['nodes'])} nodes"


def _fires(client: Client, job_id: str, target: dict[str, Any]) -> str:
    try:
        client.create_job(job_id=job_id, schedule={"in": "PT2S"}, target=target, retry={"max_attempts": 1})
        run = client.wait_for_run(job_id, timeout=_PATIENCE_SECONDS)
    finally:
        _remove(client, job_id)
    if run["status"] != "succeeded":
        raise Disappointed(f"the run ended {run['status']}: {run['error']}")
    drift = run["drift_ms"]
    return "succeeded" if drift is None else f"succeeded, {drift['total']} ms late: {dict(drift)}"


def _refuses(client: Client, job_id: str) -> str:
    """By the API, or by the worker at the latest."""
    target = {"type": "http", "url": _METADATA_URL}
    try:
        client.create_job(job_id=job_id, schedule={"in": "PT2S"}, target=target, retry={"max_attempts": 1})
        run = client.wait_for_run(job_id, timeout=_PATIENCE_SECONDS)
    except (InvalidRequest, Forbidden) as refused:
        return f"refused by the API: {refused}"
    finally:
        _remove(client, job_id)
    if run["status"] == "succeeded":
        raise Disappointed("the metadata address was called")
    return f"refused by the worker: {run['error']}"


def _remove(client: Client, job_id: str) -> None:
    try:
        client.delete_job(job_id, purge=True)
    except JobNotFound:
        return
