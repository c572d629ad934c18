from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.components.table_access import TableAccess
from infra.settings import WarmThroughput
from infra.words import in_pascal_case
from shared import schema

#: What grows with the number of jobs and runs.
HOT = (schema.JOBS.name, schema.JOB_SCHEDULES.name, schema.JOB_RUNS.name)
_TYPES = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}
_PROJECTIONS = {"ALL": dynamodb.ProjectionType.ALL, "KEYS_ONLY": dynamodb.ProjectionType.KEYS_ONLY}


class Tables(TableAccess):
    """Every table of `shared.schema`, by its logical name.

    Plain tables of one Region: fencing and leases stand on strongly consistent conditional writes, which a replica in
    another Region does not give.

    **What local indexes cost.** They can be read strongly consistently, and the protocol stands on that. In return
    DynamoDB keeps all rows of one partition key and their index rows in one partition, for good:

    - 10 GB for one key. `job_schedules`: one key is a shard. An entry is about 0.5 KB and twice that where it is parked
      and has an index row, so a shard holds 10 million jobs that fire days apart and twice as many others, and N shards
      N times that: 160 million with the usual 16. Above it DynamoDB refuses writes of that shard
      (`ItemCollectionSizeLimitExceeded`). `job_runs` has no local index: a job may keep as many runs as it makes.
    - 1,000 write units a second for one key. A create costs 2 in its shard (the entry twice, for the
      transaction): 500 a second and shard, 8,000 with 16. A run costs 2 of its job: one job runs 500 times a second.
    - 3,000 read units a second for one key. A sweep takes 1 a second and shard.

    **N is for good.** `hash(job_key) mod N` is part of each entry's key, so another N looks for every job in the wrong
    place. CloudFormation refuses to deploy another one (`ShardCount`). The first node of a fleet pins N in `fleet` as
    well; a node with another one ends at its start and says so, ECS takes the deployment back, and the old nodes go on.
    RUNBOOK.md, "Changing the number of shards", is the way to another N.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        is_protected: bool,
        key: kms.IKey | None = None,
        warm_throughput: WarmThroughput | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._is_protected = is_protected
        self._key = key
        self._warm_throughput = warm_throughput
        self._tables = {table.name: self._table(table) for table in schema.TABLES}

    def _table(self, shape: schema.Table) -> dynamodb.Table:
        warm = self._warm_throughput if shape.name in HOT else None
        table = dynamodb.Table(
            self,
            in_pascal_case(shape.name),
            partition_key=_attribute(shape.partition),
            sort_key=_attribute(shape.sort) if shape.sort else None,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute=shape.ttl,
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if self._key else None,
            encryption_key=self._key,
            warm_throughput=_warm(warm) if warm else None,
            deletion_protection=self._is_protected,
            removal_policy=RemovalPolicy.RETAIN if self._is_protected else RemovalPolicy.DESTROY,
        )
        for index in shape.indexes:
            _add_index(table, index, warm)
        return table


def _warm(wanted: WarmThroughput) -> dynamodb.WarmThroughput:
    return dynamodb.WarmThroughput(
        read_units_per_second=wanted.reads_per_second, write_units_per_second=wanted.writes_per_second
    )


def _add_index(table: dynamodb.Table, index: schema.Index, warm: WarmThroughput | None) -> None:
    if index.is_local:
        table.add_local_secondary_index(
            index_name=index.name, sort_key=_attribute(index.sort), projection_type=_PROJECTIONS[index.projection]
        )
        return
    table.add_global_secondary_index(
        index_name=index.name,
        partition_key=_attribute(index.partition),
        sort_key=_attribute(index.sort),
        projection_type=_PROJECTIONS[index.projection],
        # A global index that takes less than its table throttles the table.
        warm_throughput=_warm(warm) if warm else None,
    )


def _attribute(attribute: schema.Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=_TYPES[attribute.type])
