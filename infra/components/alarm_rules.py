"""What wakes somebody, and what of it is about fires, nodes and lanes.

Each alarm says in a sentence what is wrong, and where RUNBOOK.md says what to do. A threshold is where users are hurt
or about to be; what heals by itself within a minute or two rings nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra.components.lane import Lane
from infra.metrics import MINUTE, age_of_what_waits, of_api, of_dead_letters, of_nodes, of_workers
from infra.settings import Environment
from infra.words import in_pascal_case
from shared.schema import CATCH_UP_LANE, LONG_LANE

RUNBOOK = "infra/RUNBOOK.md"
FIVE_MINUTES = Duration.minutes(5)
#: The longest a message may wait while others are taken: seconds.
LONGEST_WAIT_SECONDS = 60
#: What is fired late has a rate and may take its time.
LONGEST_CATCH_UP_SECONDS = 3_600
#: Of a lane whose first task starts only when a message waits.
LONGEST_WAKE_SECONDS = 1_800
#: SQS stops a queue at 120,000 messages in flight.
MOST_IN_FLIGHT = 80_000
LONGEST_LAG_MS = 60_000
#: A node takes no shard beyond this (`Timing.clock_guard_ms`).
CLOCK_GUARD_MS = 5_000
#: Of the metrics of one alarm.
MOST_METRICS = 10


@dataclass(frozen=True, slots=True)
class Watched:
    """What alarms are about."""

    deployment: str
    lanes: Mapping[str, Lane]
    undelivered: sqs.IQueue
    tables: Mapping[str, dynamodb.ITable]
    functions: Mapping[str, lambda_.IFunction]
    server_errors: cloudwatch.Metric


@dataclass(frozen=True, slots=True)
class Rule:
    """Rings when the metric is above (or below) the threshold in `points` of the last `of` periods."""

    heading: str
    sentence: str
    metric: cloudwatch.IMetric
    threshold: float = 0
    points: int = 1
    of: int = 1
    #: Of several alarms under one heading.
    subject: str = ""
    is_floor: bool = False
    #: While it rings, jobs do not run as they should.
    is_duty: bool = False

    @property
    def construct_id(self) -> str:
        return in_pascal_case(re.sub(r"\W+", "_", self.heading.lower())) + self.subject

    @property
    def description(self) -> str:
        return f"{self.sentence} {RUNBOOK}#{anchor_of(self.heading)}"


def anchor_of(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


_DUTY = "Carillon is not doing its job"
#: What the alarm says that rings when one of those on duty does.
ON_DUTY = f"Jobs do not run as they should, or nobody can ask for them. {RUNBOOK}#{anchor_of(_DUTY)}"


def firing_rules(watched: Watched, environment: Environment) -> Iterator[Rule]:
    yield from _of_fires(watched, environment)
    yield from _of_nodes(watched)
    for name, lane in watched.lanes.items():
        yield from _of_lane(name, lane, environment)
    yield Rule(
        "Undelivered messages",
        "Messages that the lanes' queues gave up are not settled, so that their runs have no end.",
        watched.undelivered.metric_approximate_number_of_messages_visible(
            statistic=cloudwatch.Stats.MINIMUM, period=FIVE_MINUTES
        ),
        points=3,
        of=3,
        is_duty=True,
    )


def _of_fires(watched: Watched, environment: Environment) -> Iterator[Rule]:
    def of(name: str, statistic: str) -> cloudwatch.Metric:
        return of_nodes(watched.deployment, name, statistic)

    total = cloudwatch.Stats.SUM
    yield Rule("Lost fires", "A slot was dispatched again and again and has no run.", of("lost", total), is_duty=True)
    writers = {
        "nodes": of("events_lost", total),
        "functions": of_workers(watched.deployment, "events_lost", total, host="lambda"),
        "workers": of_workers(watched.deployment, "events_lost", total, host="ecs"),
        "api": of_api(watched.deployment, "events_lost", total),
        "settler": of_dead_letters(watched.deployment, "events_lost", total),
    }
    if environment.events == "bus":
        yield Rule(
            "Events lost",
            "Lifecycle events were dropped because the bus did not take them.",
            sum_of(writers, label="events lost"),
        )
    yield Rule("Overlooked timers", "A timer of the wheel was not given out in time.", of("overlooked", total))
    hosts = {"lambda" if lane.is_on_lambda else "ecs" for lane in environment.lanes.values()}
    if environment.worker.tasks == 0:
        # Long runs wait for a task that starts only for them.
        hosts.discard("ecs")
    for host in sorted(hosts):
        yield Rule(
            "Drift over the objective",
            f"1 % of runs on {host} start later than {environment.drift_slo_ms} ms.",
            of_workers(watched.deployment, "drift", cloudwatch.Stats.percentile(99), host=host),
            threshold=environment.drift_slo_ms,
            points=3,
            of=5,
            subject=in_pascal_case(host),
        )
        yield Rule(
            "Set aside",
            f"A worker on {host} keeps meeting a run that it cannot claim, renew, read or end.",
            of_workers(watched.deployment, "set_aside", total, host=host),
            points=3,
            of=5,
            subject=in_pascal_case(host),
        )


def _of_nodes(watched: Watched) -> Iterator[Rule]:
    def of(name: str, statistic: str) -> cloudwatch.Metric:
        return of_nodes(watched.deployment, name, statistic)

    least, most = cloudwatch.Stats.MINIMUM, cloudwatch.Stats.MAXIMUM
    yield Rule(
        "Unowned shards",
        "No node that lives owns some shard.",
        of("shards_unowned", least),
        points=2,
        of=2,
        is_duty=True,
    )
    yield Rule(
        "Entries set aside",
        "A node cannot read an entry, or cannot do its work with a shard, and goes on without it.",
        of("set_aside", most),
        points=2,
        of=2,
    )
    yield Rule(
        "No beat",
        "No scheduler node gives a sign of life: nothing fires.",
        of("beats", cloudwatch.Stats.SUM),
        threshold=1,
        points=3,
        of=3,
        is_floor=True,
        is_duty=True,
    )
    yield Rule(
        "No progress",
        "A node owns a shard and does not fire it.",
        of("progress_lag", most),
        threshold=LONGEST_LAG_MS,
        points=2,
        of=2,
        is_duty=True,
    )
    yield Rule(
        "Clock skew",
        "The clock of a node is off by so much that it fires nothing and takes no shard.",
        of("clock_skew", most),
        threshold=CLOCK_GUARD_MS,
        points=2,
        of=2,
    )


def _of_lane(name: str, lane: Lane, environment: Environment) -> Iterator[Rule]:
    subject = in_pascal_case(name)
    is_asleep = name == LONG_LANE and environment.worker.tasks == 0
    longest = LONGEST_WAIT_SECONDS
    if name == CATCH_UP_LANE:
        longest = LONGEST_CATCH_UP_SECONDS
    elif is_asleep:
        longest = LONGEST_WAKE_SECONDS
    most = cloudwatch.Stats.MAXIMUM
    yield Rule(
        "Dead letters",
        f"Lane {name} has messages that no worker could finish.",
        lane.dead_letters.metric_approximate_number_of_messages_visible(statistic=most, period=FIVE_MINUTES),
        subject=subject,
    )
    yield Rule(
        "Queue age",
        f"Messages of lane {name} wait for a worker.",
        age_of_what_waits(lane.queue),
        threshold=longest,
        points=5,
        of=5,
        subject=subject,
        is_duty=name != CATCH_UP_LANE and not is_asleep,
    )
    yield Rule(
        "Messages in flight",
        f"Lane {name} nears the 120,000 messages in flight at which SQS stops it.",
        lane.queue.metric_approximate_number_of_messages_not_visible(statistic=most, period=FIVE_MINUTES),
        threshold=MOST_IN_FLIGHT,
        subject=subject,
    )


def sum_of(metrics: Mapping[str, cloudwatch.IMetric], *, label: str) -> cloudwatch.MathExpression:
    """Of metrics that are written only where something happened: a sum has no point where one of its parts has none."""
    if len(metrics) > MOST_METRICS:
        raise ValueError(f"{label}: {len(metrics)} metrics in one alarm, and CloudWatch takes {MOST_METRICS}")
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in metrics),
        using_metrics=metrics,
        label=label,
        period=MINUTE,
    )
