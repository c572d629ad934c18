"""Every command, against the API's real handler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shared.domain.access import Scope
from shared.domain.run import RunStatus
from tests.unit.cli.terminal import Terminal
from tests.unit.client.api import end_run

CREATE = ("jobs", "create", "nightly", "--cron", "30 2 * * MON-FRI", "--timezone", "Europe/Berlin", "--handler", "echo")


def test_a_job_is_created_listed_shown_and_deleted(carillon: Terminal) -> None:
    job = carillon.json(*CREATE, "--tag", "team:finance", "--payload", '{"n": 1}', "--name", "Nightly")
    assert (job["schedule"]["timezone"], job["tags"], job["payload"]) == (
        "Europe/Berlin",
        {"team": "finance"},
        {"n": 1},
    )
    carillon("jobs", "list", "--tag", "team:finance")
    assert carillon.rows[0][:3] == ["JOB_ID", "STATE", "NEXT_SLOTS"]
    assert carillon.rows[1][:2] == ["nightly", "active"]
    carillon("jobs", "get", "nightly")
    assert ["state", "active"] in carillon.rows
    rows = [["outcome", "cancelled_before_fire"], ["run_ids", "-"], ["run_count", "0"]]
    assert carillon("jobs", "delete", "nightly").rows == rows


def test_a_job_comes_from_a_file_and_options_go_first(carillon: Terminal, tmp_path: Path) -> None:
    document = {"schedule": {"in": "PT1H"}, "target": {"type": "handler", "name": "echo"}, "name": "file", "group": "a"}
    path = tmp_path / "job.json"
    path.write_text(json.dumps(document))
    job = carillon.json("jobs", "create", "--definition", f"@{path}", "--name", "option")
    assert (job["name"], job["group"]) == ("option", "a")
    assert carillon.json("jobs", "create", "mine", "--put", "--definition", f"@{path}")["revision"] == 1
    assert carillon.json("jobs", "create", "mine", "--put", "--definition", f"@{path}", "--group", "b")["group"] == "b"


def test_jobs_are_paused_and_resumed_one_by_one_and_by_group(carillon: Terminal) -> None:
    carillon(*CREATE, "--group", "night")
    assert carillon.json("jobs", "pause", "nightly")["state"] == "paused"
    assert [item["state"] for item in carillon.json("jobs", "resume", "--group", "night")] == ["active"]
    assert [item["outcome"] for item in carillon.json("jobs", "cancel", "--group", "night")] == [
        "cancelled_before_fire"
    ]


def test_runs_are_started_listed_shown_cancelled_and_repeated(carillon: Terminal) -> None:
    carillon(*CREATE)
    run_id = carillon.json("jobs", "run", "nightly", "--payload", "null")["run_id"]
    assert carillon.json("runs", "get", "nightly", run_id)["kind"] == "manual"
    assert carillon.json("runs", "cancel", "nightly", run_id)["status"] == "cancelled"
    assert carillon.json("runs", "retry", "nightly", run_id)["status"] == "waiting"
    carillon("runs", "list", "nightly")
    assert carillon.rows[1][:3] == [run_id, "manual", "waiting"]
    assert carillon.json("jobs", "explain", "nightly", "--run", run_id)["outcome"] == "waiting"


@pytest.mark.parametrize(("status", "code"), [(RunStatus.SUCCEEDED, 0), (RunStatus.FAILED, 4)])
def test_waiting_tells_by_its_code_whether_the_run_succeeded(carillon: Terminal, status: RunStatus, code: int) -> None:
    carillon(*CREATE)
    run_id = carillon.json("jobs", "run", "nightly")["run_id"]
    assert carillon("jobs", "run", "nightly", "--wait", "1").code == 4
    end_run(carillon.world, "nightly", run_id, status)
    assert carillon("runs", "wait", "nightly", run_id).code == code
    assert ["status", str(status)] in carillon.rows


def test_whoever_cancels_a_run_that_a_worker_has_is_told_to_wait(carillon: Terminal) -> None:
    carillon(*CREATE)
    run = carillon.world.claimed(carillon.world.job("nightly"), carillon.world.clock.now())
    carillon("runs", "cancel", "nightly", run.run_id)
    assert ["status", "running"] in carillon.rows
    assert "carillon runs wait" in carillon.err
    waiting = carillon.json("jobs", "run", "nightly")["run_id"]
    assert carillon("runs", "cancel", "nightly", waiting).err == ""


def test_a_job_is_only_created(carillon: Terminal) -> None:
    job = ("nightly", "--cron", "30 2 * * *", "--handler", "echo")
    assert carillon.json("jobs", "create", *job, "--create-only")["revision"] == 1
    refused = carillon("jobs", "create", *job, "--create-only")
    assert refused.code == 1
    assert refused.err.startswith("carillon: 412 precondition")
    assert carillon.json("jobs", "create", *job, "--put", "--name", "Nightly")["revision"] == 2
    assert carillon("jobs", "create", *job, "--put", "--create-only").err.startswith("usage:")
    assert "need a job_id" in carillon("jobs", "create", *job[1:], "--create-only").err


def test_failed_runs_are_listed_and_redriven(carillon: Terminal) -> None:
    carillon(*CREATE)
    run_id = carillon.json("jobs", "run", "nightly")["run_id"]
    end_run(carillon.world, "nightly", run_id, RunStatus.FAILED)
    assert carillon("failed", "--job", "nightly").rows[1][:2] == ["nightly", run_id]
    assert carillon("redrive", "--dry-run").err.startswith("carillon: 400")
    carillon("redrive", "--all", "--dry-run")
    assert (carillon.rows[1][:3], carillon.err) == (["nightly", run_id, "planned"], "1 would run again\n")
    carillon("redrive", "--group", "none")
    assert (len(carillon.rows), carillon.err) == (1, "0 run again\n")
    assert carillon.json("redrive", "--job", "nightly", "--rate", "2", "--limit", "5")["redriven"] == 1
    assert carillon("failed").rows == [
        ["JOB_ID", "RUN_ID", "STATUS", "ENDED_AT", "ATTEMPT", "HTTP_STATUS", "TYPE", "MESSAGE"]
    ]


def test_past_slots_are_run(carillon: Terminal) -> None:
    carillon("jobs", "create", "hourly", "--schedule", '{"every": "PT1H", "anchor": "2026-11-01T00:00:00Z"}',
             "--url-target", "https://example.com/hook")  # fmt: skip
    carillon.world.clock.advance(3_600_000)
    done = carillon.json("backfill", "hourly", "--since", "2026-11-20T00:00:00Z", "--until", "2026-11-20T02:00:00Z")
    assert done["planned"] == 2
    carillon("backfill", "hourly", "--since", "2026-11-20T00:00:00Z", "--dry-run")
    assert "go on with --since 2026-11-24T04:00:00.000Z" in carillon.err


def test_a_preview_shows_local_times(carillon: Terminal) -> None:
    carillon("preview", "--cron", "0 9 * * *", "--timezone", "Europe/Berlin", "--until", "2026-11-27T08:00:01Z")
    assert carillon.rows == [
        ["SLOT", "LOCAL", "FIRES", "MARKS"],
        ["2026-11-27T08:00:00.000Z", "2026-11-27T09:00:00.000+01:00", "true", "-"],
    ]


def test_keys_are_made_rotated_and_revoked(carillon: Terminal) -> None:
    made = carillon.json("keys", "create", "--scope", "read", "--scope", "write", "--name", "deploy")
    assert "not shown again" in carillon.err
    rotated = carillon.json("keys", "rotate", made["key_id"], "--expires-at", "2027-01-01T00:00:00Z")
    assert (rotated["scopes"], rotated["name"]) == (made["scopes"], "deploy")
    assert f"carillon keys revoke {made['key_id']}" in carillon.err
    assert carillon.json("keys", "revoke", made["key_id"])["revoked_at"]
    assert len(carillon("keys", "list").rows) == 4
    assert carillon("keys", "rotate", made["key_id"]).code == 2


def test_without_a_key_id_the_key_of_the_call_is_rotated(carillon: Terminal) -> None:
    assert carillon.json("keys", "rotate")["scopes"] == ["admin", "read", "write"]


def test_signing_keys_and_grants(carillon: Terminal) -> None:
    key_id = carillon.json("signing-keys", "create")["key_id"]
    assert carillon("signing-keys", "list").rows[1][0] == key_id
    assert carillon.json("signing-keys", "delete", key_id)["outcome"] == "deleted"
    grant = carillon.json(
        "grants", "create", "lambda", "arn:aws:lambda:eu-central-1:123456789012:function:f", "--owner", "other"
    )
    assert carillon("grants", "list").rows == [
        ["GRANT_ID", "OWNER_ID", "TARGET_TYPE", "RESOURCE", "ROLE_ARN", "MEMBERS", "HOSTS", "CREATED_BY"]
    ]
    assert carillon("--owner", "other", "grants", "list").rows[1][0] == grant["grant_id"]
    assert carillon("grants", "delete", grant["grant_id"], "--owner", "other").code == 0


def test_the_fleet_its_brake_and_health(carillon: Terminal) -> None:
    assert carillon.json("firing", "off") == {"on": False}
    carillon("fleet")
    assert (carillon.rows[0], carillon.err) == (
        ["SHARD", "OWNER", "EPOCH", "WATERMARK", "LAG_MS"],
        "firing: off; nodes: none\n",
    )
    assert carillon("firing", "on").code == 0
    assert carillon.json("fleet")["firing"] is True
    assert carillon.json("health")["status"] == "ok"


def test_an_owner_is_erased_only_with_a_yes(carillon: Terminal) -> None:
    assert carillon("owners", "erase", "other").code == 2
    carillon.world.mint("other", Scope.READ)
    assert carillon.json("owners", "erase", "other", "--yes") == {"jobs": 0, "runs": 0, "keys": 1, "is_done": True}
