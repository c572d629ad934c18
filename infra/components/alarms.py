"""What wakes somebody: each alarm says in a sentence what is wrong, and where RUNBOOK.md says what to do.

A threshold is where users are hurt or about to be; what heals by itself within a minute or two rings nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.components.lane import Lane
from infra.metrics import MINUTE, age_of_what_waits, of_nodes, of_table, of_workers
from infra.settings import Environment
from infra.words import in_pascal_case
from shared.schema import CATCH_UP_LANE, TABLES

RUNBOOK = "infra/RUNBOOK.md"
#: The longest a message may wait while others are taken: seconds.
LONGEST_WAIT_SECONDS = 60
#: What is fired late has a rate and may take its time.
LONGEST_CATCH_UP_SECONDS = 3_600
#: SQS stops a queue at 120,000 messages in flight.
MOST_IN_FLIGHT = 80_000
LONGEST_LAG_MS = 60_000
#: A node takes no shard beyond this (`Timing.clock_guard_ms`).
CLOCK_GUARD_MS = 5_000
MOST_SERVER_ERRORS = 5
FIVE_MINUTES = Duration.minutes(5)
_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


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

    @property
    def construct_id(self) -> str:
        return in_pascal_case(re.sub(r"\W+", "_", self.heading.lower())) + self.subject

    @property
    def description(self) -> str:
        return f"{self.sentence} {RUNBOOK}#{anchor_of(self.heading)}"


def anchor_of(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


class Alarms(Construct):
    """All of them publish to one topic, which other systems may subscribe to as well."""

    def __init__(
        self, scope: Construct, construct_id: str, *, watched: Watched, environment: Environment, key: kms.IKey | None
    ) -> None:
        super().__init__(scope, construct_id)
        self.topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=not environment.is_emulated)
        if not environment.is_emulated:
            self._admit_alarms()
        if environment.alarm_email is not None:
            self.topic.add_subscription(subscriptions.EmailSubscription(environment.alarm_email))
        for rule in rules(watched, environment):
            is_math = isinstance(rule.metric, cloudwatch.MathExpression)
            # The emulator takes no alarm on an expression.
            if not (is_math and environment.is_emulated):
                self._add(rule)

    def _admit_alarms(self) -> None:
        """A policy of the topic, such as that for TLS, takes the place of the one by which its account may publish."""
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )

    def _add(self, rule: Rule) -> None:
        missing = cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self,
            rule.construct_id,
            alarm_description=rule.description,
            metric=rule.metric,
            threshold=rule.threshold,
            comparison_operator=_BELOW if rule.is_floor else _ABOVE,
            datapoints_to_alarm=rule.points,
            evaluation_periods=rule.of,
            treat_missing_data=missing.BREACHING if rule.is_floor else missing.NOT_BREACHING,
        )
        action = actions.SnsAction(self.topic)
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)


def rules(watched: Watched, environment: Environment) -> Iterator[Rule]:
    yield from _of_fires(watched, environment)
    yield from _of_nodes(watched)
    for name, lane in watched.lanes.items():
        yield from _of_lane(name, lane)
    yield Rule(
        "Undelivered messages",
        "Messages that the lanes' queues gave up are not settled, so that their runs have no end.",
        watched.undelivered.metric_approximate_number_of_messages_visible(
            statistic=cloudwatch.Stats.MINIMUM, period=FIVE_MINUTES
        ),
        points=3,
        of=3,
    )
    yield from _of_platform(watched)


def _of_fires(watched: Watched, environment: Environment) -> Iterator[Rule]:
    def of(name: str, statistic: str) -> cloudwatch.Metric:
        return of_nodes(watched.deployment, name, statistic)

    total = cloudwatch.Stats.SUM
    yield Rule("Lost fires", "A slot was dispatched again and again and has no run.", of("lost", total))
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
    yield Rule("Unowned shards", "No node that lives owns some shard.", of("shards_unowned", least), points=2, of=2)
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
    )
    yield Rule(
        "No progress",
        "A node owns a shard and does not fire it.",
        of("progress_lag", most),
        threshold=LONGEST_LAG_MS,
        points=2,
        of=2,
    )
    yield Rule(
        "Clock skew",
        "The clock of a node is off by so much that it fires nothing and takes no shard.",
        of("clock_skew", most),
        threshold=CLOCK_GUARD_MS,
        points=2,
        of=2,
    )


def _of_lane(name: str, lane: Lane) -> Iterator[Rule]:
    subject = in_pascal_case(name)
    longest = LONGEST_CATCH_UP_SECONDS if name == CATCH_UP_LANE else LONGEST_WAIT_SECONDS
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
    )
    yield Rule(
        "Messages in flight",
        f"Lane {name} nears the 120,000 messages in flight at which SQS stops it.",
        lane.queue.metric_approximate_number_of_messages_not_visible(statistic=most, period=FIVE_MINUTES),
        threshold=MOST_IN_FLIGHT,
        subject=subject,
    )


def _of_platform(watched: Watched) -> Iterator[Rule]:
    total = cloudwatch.Stats.SUM
    for name, function in watched.functions.items():
        yield Rule(
            "Function errors",
            f"The function {name} ends with an error.",
            function.metric_errors(statistic=total, period=FIVE_MINUTES),
            subject=in_pascal_case(name),
        )
        yield Rule(
            "Function throttles",
            f"The function {name} is refused for lack of concurrency.",
            function.metric_throttles(statistic=total, period=FIVE_MINUTES),
            points=3,
            of=3,
            subject=in_pascal_case(name),
        )
    throttles = {
        f"{kind}_{name}{f'_{index}' if index else ''}": of_table(
            table, f"{kind.capitalize()}ThrottleEvents", index=index
        )
        for name, table in watched.tables.items()
        for index in ("", *global_indexes_of(name))
        for kind in ("read", "write")
    }
    yield Rule(
        "Table throttles",
        "DynamoDB refuses reads or writes of a table that grows with jobs and runs.",
        cloudwatch.MathExpression(
            # DynamoDB counts only where something was refused, and a sum has no point where one of its parts has none.
            expression=" + ".join(f"FILL({name}, 0)" for name in throttles),
            using_metrics=throttles,
            label="throttled",
            period=MINUTE,
        ),
        points=3,
        of=5,
    )
    yield Rule(
        "Server errors of the API",
        "The API answers requests with 5xx.",
        watched.server_errors,
        threshold=MOST_SERVER_ERRORS,
    )


def global_indexes_of(table: str) -> tuple[str, ...]:
    """They have throughput of their own, which the table's figures leave out."""
    [found] = [each for each in TABLES if each.name == table]
    return tuple(index.name for index in found.indexes if not index.is_local)
