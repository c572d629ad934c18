from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.components.alarm_rules import Watched
from infra.metrics import of_nodes, of_table, of_workers
from infra.settings import Environment

WIDTH = 12
_SUM, _MAX, _AVERAGE = cloudwatch.Stats.SUM, cloudwatch.Stats.MAXIMUM, cloudwatch.Stats.AVERAGE
_PARTS = ("drift_dispatch", "drift_queue", "drift_claim", "drift_start")
_ENDS = ("started", "succeeded", "failed", "timed_out", "cancelled")
_ODD = (
    "fenced",
    "duplicates",
    "delayed",
    "set_aside",
    "step_failures",
    "skipped_paused",
    "skipped_superseded",
    "skipped_overlap",
    "events_lost",
)

_MUST_STAY_0 = ("lost", "overlooked", "refused", "late", "events_lost", "set_aside", "step_failures")


class Dashboard(Construct):
    """From what users feel, top, to what may explain it, bottom. Its name is CloudFormation's."""

    def __init__(self, scope: Construct, construct_id: str, *, watched: Watched, environment: Environment) -> None:
        super().__init__(scope, construct_id)
        self._deployment = watched.deployment
        hosts = sorted({"lambda" if lane.is_on_lambda else "ecs" for lane in environment.lanes.values()})
        rows = [
            [self._drift(hosts), self._parts(hosts)],
            [self._nodes("Slots", _SUM, "dispatched", "repeated", "resent", "skipped_misfire"), self._runs(hosts)],
            [
                self._nodes("Must stay 0", _SUM, *_MUST_STAY_0),
                self._odd(hosts),
            ],
            [
                self._nodes("Shards", cloudwatch.Stats.SUM, "shards_owned", "wheel_size"),
                self._nodes("Lag of a node", _MAX, "progress_lag", "loop_lag", "clock_skew"),
            ],
            [_waiting(watched), _in_flight(watched)],
            [_functions(watched), _tables(watched)],
        ]
        cloudwatch.Dashboard(self, "Dashboard", widgets=rows)

    def _drift(self, hosts: Sequence[str]) -> cloudwatch.GraphWidget:
        lines = [
            of_workers(self._deployment, "drift", cloudwatch.Stats.percentile(each), host=host)
            for host in hosts
            for each in (50, 99)
        ]
        return _graph("Drift, p50 and p99", lines)

    def _parts(self, hosts: Sequence[str]) -> cloudwatch.GraphWidget:
        each = (cloudwatch.Stats.percentile(percent) for percent in (50, 99))
        lines = [line for percentile in each for line in self._workers(hosts, percentile, *_PARTS)]
        return _graph("Drift by part, p50 and p99", lines)

    def _runs(self, hosts: Sequence[str]) -> cloudwatch.GraphWidget:
        return _graph("Runs", self._workers(hosts, _SUM, *_ENDS))

    def _odd(self, hosts: Sequence[str]) -> cloudwatch.GraphWidget:
        return _graph("Fenced, duplicates, delayed, set aside, skipped, lost", self._workers(hosts, _SUM, *_ODD))

    def _nodes(self, title: str, statistic: str, *names: str) -> cloudwatch.GraphWidget:
        return _graph(title, [of_nodes(self._deployment, name, statistic) for name in names])

    def _workers(self, hosts: Sequence[str], statistic: str, *names: str) -> list[cloudwatch.Metric]:
        return [of_workers(self._deployment, name, statistic, host=host) for host in hosts for name in names]


def _graph(title: str, lines: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, width=WIDTH, left=list(lines))


def _waiting(watched: Watched) -> cloudwatch.GraphWidget:
    lanes = watched.lanes.values()
    return cloudwatch.GraphWidget(
        title="Messages that wait, and seconds the oldest did",
        width=WIDTH,
        left=[lane.queue.metric_approximate_number_of_messages_visible(statistic=_MAX) for lane in lanes],
        right=[lane.queue.metric_approximate_age_of_oldest_message(statistic=_MAX) for lane in lanes],
    )


def _in_flight(watched: Watched) -> cloudwatch.GraphWidget:
    lanes = watched.lanes.values()
    return cloudwatch.GraphWidget(
        title="Messages in flight, and dead letters",
        width=WIDTH,
        left=[lane.queue.metric_approximate_number_of_messages_not_visible(statistic=_MAX) for lane in lanes],
        right=[lane.dead_letters.metric_approximate_number_of_messages_visible(statistic=_MAX) for lane in lanes],
    )


def _functions(watched: Watched) -> cloudwatch.GraphWidget:
    functions = watched.functions.values()
    return cloudwatch.GraphWidget(
        title="Functions: errors, throttles, concurrency",
        width=WIDTH,
        left=[metric for each in functions for metric in (each.metric_errors(), each.metric_throttles())],
        right=[each.metric("ConcurrentExecutions", statistic=_MAX) for each in functions],
    )


def _tables(watched: Watched) -> cloudwatch.GraphWidget:
    consumed = ("ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits")
    return _graph(
        "Units of the tables", [of_table(table, name) for table in watched.tables.values() for name in consumed]
    )
