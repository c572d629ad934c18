from __future__ import annotations

import json
from typing import Any

import pytest

from shared.domain.instants import Instant
from shared.observability.metrics import UNITS, MetricLog, Values

AT = Instant(1_800_000_000_123)


def written(values: Values) -> list[dict[str, Any]]:
    lines: list[str] = []
    MetricLog("Carillon/Jobs", {"service": "worker", "host": "ecs"}, {"node_id": "n1"}, lines.append).put(values, at=AT)
    return [json.loads(line) for line in lines]


def test_a_line_is_what_cloudwatch_reads_metrics_from() -> None:
    assert written({"lost": 2, "drift": [1, 5]}) == [
        {
            "_aws": {
                "Timestamp": AT,
                "CloudWatchMetrics": [
                    {
                        "Namespace": "Carillon/Jobs",
                        "Dimensions": [["service", "host"]],
                        "Metrics": [{"Name": "lost", "Unit": "Count"}, {"Name": "drift", "Unit": "Milliseconds"}],
                    }
                ],
            },
            "action": "metrics",
            "node_id": "n1",
            "service": "worker",
            "host": "ecs",
            "lost": 2,
            "drift": [1, 5],
        }
    ]


def test_what_nobody_measured_writes_no_line() -> None:
    assert written({}) == []
    assert written({"drift": []}) == []


def test_a_hundred_values_fit_a_line_and_the_rest_follow_without_repeating_the_numbers() -> None:
    drifts = list(range(101))

    first, second = written({"started": 101, "drift": drifts, "drift_queue": drifts[:100]})

    assert (first["started"], first["drift"], first["drift_queue"]) == (101, drifts[:100], drifts[:100])
    assert second["drift"] == [100]
    assert [each["Name"] for each in second["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == ["drift"]


def test_a_name_that_no_dashboard_knows_is_refused() -> None:
    with pytest.raises(KeyError):
        written({"drfit": 1})


def test_a_line_with_every_metric_stays_within_what_the_format_allows() -> None:
    assert len(UNITS) <= 100
    assert set(UNITS.values()) <= {"Count", "Milliseconds"}
