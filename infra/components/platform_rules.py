"""What is watched of functions, tables, the API and deployments."""

from __future__ import annotations

from collections.abc import Iterator

from aws_cdk import aws_cloudwatch as cloudwatch

from infra.components.alarm_rules import FIVE_MINUTES, Rule, Watched, sum_of
from infra.metrics import of_api, of_table, of_workers
from infra.words import in_pascal_case
from shared.schema import TABLES

MOST_SERVER_ERRORS = 5
#: A superseded worker ends by itself after 150 minutes, and CloudFormation gives up after three hours.
LONGEST_REPLACED_MS = 120 * 60_000
#: Wrong keys in five minutes: of a program with an old key it is fewer.
MOST_UNKNOWN_KEYS = 500


def platform_rules(watched: Watched) -> Iterator[Rule]:
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
    for name, table in watched.tables.items():
        throttles = {
            f"{kind}{f'_{index}' if index else ''}": of_table(table, f"{kind.capitalize()}ThrottleEvents", index=index)
            for index in ("", *global_indexes_of(name))
            for kind in ("read", "write")
        }
        yield Rule(
            "Table throttles",
            f"DynamoDB refuses reads or writes of table {name}, which grows with jobs and runs.",
            sum_of(throttles, label="throttled"),
            points=3,
            of=5,
            subject=in_pascal_case(name),
        )
    yield Rule(
        "Unknown keys",
        "Requests with keys that are unknown, revoked or expired keep coming.",
        of_api(watched.deployment, "refused_keys", total, period=FIVE_MINUTES),
        threshold=MOST_UNKNOWN_KEYS,
        points=2,
        of=2,
    )
    yield Rule(
        "Replacement stuck",
        "A worker on ECS that a deployment replaces has not ended for two hours.",
        of_workers(watched.deployment, "superseded", cloudwatch.Stats.MAXIMUM, host="ecs"),
        threshold=LONGEST_REPLACED_MS,
    )
    yield Rule(
        "Server errors of the API",
        "The API answers requests with 5xx.",
        watched.server_errors,
        threshold=MOST_SERVER_ERRORS,
        is_duty=True,
    )


def global_indexes_of(table: str) -> tuple[str, ...]:
    """They have throughput of their own, which the table's figures leave out."""
    [found] = [each for each in TABLES if each.name == table]
    return tuple(index.name for index in found.indexes if not index.is_local)
