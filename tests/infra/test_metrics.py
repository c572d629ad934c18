"""What operators were promised to see: every metric is written by somebody, shown, and guarded where it must be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from shared.observability.metrics import UNITS
from tests.infra.synthesis import Synthesis, only

ROOT = Path(__file__).parents[2]
#: In the words of those who asked, by the names of the metrics.
PROMISED = {
    "drift": {"drift", "drift_dispatch", "drift_queue", "drift_claim", "drift_start"},
    "what nodes do": {"dispatched", "lost", "late"},
    "what becomes of runs": {"started", "succeeded", "failed", "fenced", "duplicates", "in_flight"},
    "skipped by reason": {"skipped_misfire", "skipped_paused", "skipped_superseded", "skipped_overlap"},
    "how nodes are": {"shards_owned", "wheel_size", "loop_lag", "clock_skew"},
}
#: What wakes somebody, by the headings of the runbook, and of what it is judged.
GUARDED = {
    "lost-fires": "lost",
    "drift-over-the-objective": "drift",
    "set-aside": "set_aside",
    "unowned-shards": "shards_unowned",
    "entries-set-aside": "set_aside",
    "no-beat": "beats",
    "no-progress": "progress_lag",
    "dead-letters": "ApproximateNumberOfMessagesVisible",
    "queue-age": "ApproximateAgeOfOldestMessage",
    "messages-in-flight": "ApproximateNumberOfMessagesNotVisible",
    "function-throttles": "Throttles",
    "table-throttles": "WriteThrottleEvents",
    "server-errors-of-the-api": "5xx",
    "function-errors": "Errors",
}


def dashboard(synthesis: Synthesis) -> str:
    body = only(list(synthesis.of_type("AWS::CloudWatch::Dashboard").values()))
    return json.dumps(body).replace('\\"', '"')


@pytest.mark.parametrize("what", PROMISED)
def test_every_metric_that_was_promised_is_there(what: str) -> None:
    assert PROMISED[what] <= set(UNITS)


@pytest.mark.parametrize("name", UNITS)
def test_somebody_writes_it(name: str) -> None:
    writers = [*(ROOT / "functions").rglob("*.py"), ROOT / "shared" / "observability" / "announcing.py"]

    assert any(f'"{name}"' in path.read_text() for path in writers)


@pytest.mark.parametrize("percentile", ["p50", "p99"])
@pytest.mark.parametrize("host", ["ecs", "lambda"])
def test_drift_is_shown_by_part_and_host(chosen: Synthesis, percentile: str, host: str) -> None:
    line = r'"(drift\w*)","host","(\w+)","service","worker",\{"period":60,"stat":"(p\d+)"'
    shown = re.findall(line, dashboard(chosen))

    assert {name for name, at, stat in shown if (at, stat) == (host, percentile)} == PROMISED["drift"]


@pytest.mark.parametrize("heading", GUARDED)
def test_what_must_wake_somebody_does(prod: Synthesis, heading: str) -> None:
    rings = [
        json.dumps(alarm)
        for alarm in prod.of_type("AWS::CloudWatch::Alarm").values()
        if str(alarm.get("AlarmDescription")).endswith(f"#{heading}")
    ]

    assert rings
    assert all(f'"{GUARDED[heading]}"' in alarm for alarm in rings)
