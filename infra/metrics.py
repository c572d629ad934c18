"""The metrics of one deployment as alarms, dashboard and scaling read them."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb

from shared.config import namespace_of

MINUTE = Duration.minutes(1)


def of_nodes(deployment: str, name: str, statistic: str) -> cloudwatch.Metric:
    """Of all scheduler nodes together."""
    return _metric(deployment, name, statistic, {"service": "scheduler"})


def of_workers(deployment: str, name: str, statistic: str, *, host: str) -> cloudwatch.Metric:
    """Of all workers on one host, `lambda` or `ecs`."""
    return _metric(deployment, name, statistic, {"service": "worker", "host": host})


def _metric(deployment: str, name: str, statistic: str, dimensions: Mapping[str, str]) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace_of(deployment),
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
        period=MINUTE,
    )


def of_table(table: dynamodb.ITable, name: str) -> cloudwatch.Metric:
    """A sum that DynamoDB keeps of a whole table."""
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name=name,
        dimensions_map={"TableName": table.table_name},
        statistic=cloudwatch.Stats.SUM,
        period=MINUTE,
    )
