"""Whoever changes something leaves one line for each change, on every route there is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.prepared import RUN_ID, SECRET, Example, examples, prepared
from tests.unit.api.test_interruptions import CHANGES

#: Of the examples whose request changes nothing, or several jobs; the others leave one line.
LINES = {"createJobs": 2, "resumeJob": 0, "resumeJobs": 0, "cancelRun": 0}
READS = [each for each in examples() if str(each) not in set(map(str, CHANGES))]


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records]


@pytest.mark.parametrize("example", CHANGES, ids=str)
def test_a_change_leaves_a_line_that_says_who_did_what_for_whom(
    example: Example, caplog: pytest.LogCaptureFixture
) -> None:
    world = prepared()
    caplog.clear()
    assert example.send(world).status < 300
    found = lines(caplog)
    assert len(found) == LINES.get(example.operation.name, 1)
    by = f"key:crl_{world.key_of(world.key_text).key_id}"
    for line in found:
        assert line["action"].count(".") == 1
        assert (line["owner_id"], line["by"], line["request_id"]) == ("acme", by, "request-1")
    assert SECRET not in str(found)


@pytest.mark.parametrize("example", READS, ids=str)
def test_what_only_reads_leaves_none(example: Example, caplog: pytest.LogCaptureFixture) -> None:
    world = prepared()
    caplog.clear()
    assert example.send(world).status == 200
    assert lines(caplog) == []


def test_a_repeat_leaves_no_second_line(caplog: pytest.LogCaptureFixture) -> None:
    world = prepared()
    caplog.clear()
    for _ in range(2):
        for path, body in (
            ("/v1/jobs", {"schedule": {"in": "PT5S"}, "target": {"type": "handler", "name": "echo"}}),
            ("/v1/signing-keys", None),
            ("/v1/grants", {"target_type": "http", "resource": "example.com"}),
            ("/v1/keys", {"scopes": ["read"]}),
            (f"/v1/jobs/nightly-report/runs/{RUN_ID}/retry", None),
        ):
            world.send("POST", path, body, idempotency_key=path.rpartition("/")[2])
    actions = [line["action"] for line in lines(caplog)]
    assert actions == ["job.create", "signing_key.create", "grant.create", "key.create", "run.retry"]
