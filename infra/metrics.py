"""The metrics of one deployment as alarms, dashboard and scaling read them."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sqs as sqs

from shared.config import namespace_of

MINUTE = Duration.minutes(1)


def of_nodes(deployment: str, name: str, statistic: str) -> cloudwatch.Metric:
    """Of all scheduler nodes together."""
    return _metric(deployment, name, statistic, {"service": "scheduler"})


def of_workers(deployment: str, name: str, statistic: str, *, host: str) -> cloudwatch.Metric:
    """Of all workers on one host, `lambda` or `ecs`."""
    return _metric(deployment, name, statistic, {"service": "worker", "host": host})


def of_api(deployment: str, name: str, statistic: str, *, period: Duration = MINUTE) -> cloudwatch.Metric:
    return _metric(deployment, name, statistic, {"service": "api"}, period)


def of_dead_letters(deployment: str, name: str, statistic: str) -> cloudwatch.Metric:
    """Of what settles undelivered messages."""
    return _metric(deployment, name, statistic, {"service": "dead_letters"})


def _metric(
    deployment: str, name: str, statistic: str, dimensions: Mapping[str, str], period: Duration = MINUTE
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace_of(deployment),
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
        period=period,
    )


def of_table(table: dynamodb.ITable, name: str, *, index: str = "") -> cloudwatch.Metric:
    """A sum that DynamoDB keeps of a whole table without its global indexes, or of one of these."""
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name=name,
        dimensions_map={"TableName": table.table_name} | ({"GlobalSecondaryIndexName": index} if index else {}),
        statistic=cloudwatch.Stats.SUM,
        period=MINUTE,
    )


def age_of_what_waits(queue: sqs.IQueue) -> cloudwatch.MathExpression:
    """Seconds. A long run keeps its message and with it the age of the queue, so that counts only while one waits."""
    most = cloudwatch.Stats.MAXIMUM
    return cloudwatch.MathExpression(
        expression="IF(waiting > 0, age, 0)",
        using_metrics={
            "waiting": queue.metric_approximate_number_of_messages_visible(statistic=most),
            "age": queue.metric_approximate_age_of_oldest_message(statistic=most),
        },
        label="age of what waits",
        period=MINUTE,
    )
