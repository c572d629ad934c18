from __future__ import annotations

import pytest

from infra.words import in_pascal_case
from shared import schema
from tests.infra.synthesis import Properties, Synthesis

EACH_TABLE = pytest.mark.parametrize("shape", schema.TABLES, ids=lambda shape: shape.name)


def table_in(synthesis: Synthesis, shape: schema.Table) -> Properties:
    return synthesis.tables()[f"{in_pascal_case(shape.name)}Table"]


def keys(partition: schema.Attribute, sort: schema.Attribute | None) -> list[dict[str, str]]:
    hashed = [{"AttributeName": partition.name, "KeyType": "HASH"}]
    return hashed if sort is None else [*hashed, {"AttributeName": sort.name, "KeyType": "RANGE"}]


def indexes(shape: schema.Table, *, local: bool) -> list[Properties]:
    return [
        {
            "IndexName": index.name,
            "KeySchema": keys(index.partition, index.sort),
            "Projection": {"ProjectionType": index.projection},
        }
        for index in shape.indexes
        if index.is_local == local
    ]


def test_there_is_a_table_for_each_of_the_schema_and_no_other(prod: Synthesis) -> None:
    prod.data.resource_count_is("AWS::DynamoDB::Table", len(schema.TABLES))
    assert set(prod.tables()) == {f"{in_pascal_case(shape.name)}Table" for shape in schema.TABLES}


@EACH_TABLE
def test_keys_and_indexes_are_those_of_the_schema(prod: Synthesis, shape: schema.Table) -> None:
    properties = table_in(prod, shape)["Properties"]
    attributes = {attribute for index in shape.indexes for attribute in (index.partition, index.sort)}
    attributes |= {shape.partition} | ({shape.sort} if shape.sort else set())

    assert properties["KeySchema"] == keys(shape.partition, shape.sort)
    assert properties.get("LocalSecondaryIndexes", []) == indexes(shape, local=True)
    assert properties.get("GlobalSecondaryIndexes", []) == indexes(shape, local=False)
    assert {(each["AttributeName"], each["AttributeType"]) for each in properties["AttributeDefinitions"]} == {
        (attribute.name, attribute.type) for attribute in attributes
    }


@EACH_TABLE
@pytest.mark.parametrize("environment", ["local", "prod"])
def test_every_table_is_on_demand_recoverable_and_expires_what_the_schema_says(
    request: pytest.FixtureRequest, environment: str, shape: schema.Table
) -> None:
    properties = table_in(request.getfixturevalue(environment), shape)["Properties"]
    expires = {"AttributeName": shape.ttl, "Enabled": True} if shape.ttl else None

    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties.get("TimeToLiveSpecification") == expires


@EACH_TABLE
def test_a_table_outlives_its_stack_but_not_on_the_emulator(
    prod: Synthesis, local: Synthesis, shape: schema.Table
) -> None:
    kept, passing = table_in(prod, shape), table_in(local, shape)

    assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert kept["Properties"]["DeletionProtectionEnabled"] is True
    assert passing["DeletionPolicy"] == "Delete"
    assert not passing["Properties"].get("DeletionProtectionEnabled")


@EACH_TABLE
def test_no_table_has_a_physical_name(prod: Synthesis, shape: schema.Table) -> None:
    assert "TableName" not in table_in(prod, shape)["Properties"]
