"""The operator's commands of recovery over the emulator: what they make of wrong names, and a restore that goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.scheduler.recovery import __main__ as recovery
from functions.scheduler.recovery.restoring import newest_common, targets_of
from functions.scheduler.recovery.wiring import Reach, reach
from localstack import endpoints
from shared.config import TableNames
from shared.domain.errors import WriteRefused
from shared.domain.instants import SECOND, Instant
from shared.schema import TABLES
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator


@pytest.fixture
def reached(emulator_endpoint: str, tables: TableNames) -> Iterator[Reach]:
    """Over tables with point-in-time recovery."""
    names = {table.name: getattr(tables, table.name) for table in TABLES}
    dynamodb = endpoints.dynamodb(emulator_endpoint)
    for name in names.values():
        dynamodb.update_continuous_backups(
            TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
    with aws_environment(emulator_endpoint):
        yield reach(names)


def test_a_target_that_is_something_else_is_refused(reached: Reach, tables: TableNames) -> None:
    with pytest.raises(WriteRefused, match="take another prefix"):
        reached.backups.begin(tables.jobs, tables.access, Instant(0))


def test_a_table_without_recovery_says_so(reached: Reach, tables: TableNames, emulator_endpoint: str) -> None:
    endpoints.dynamodb(emulator_endpoint).update_continuous_backups(
        TableName=tables.jobs, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )
    with pytest.raises(WriteRefused, match="has no point-in-time recovery"):
        newest_common(reached.backups, {"jobs": tables.jobs})


def test_the_newest_common_instant_is_a_whole_second(reached: Reach, tables: TableNames) -> None:
    assert newest_common(reached.backups, {"jobs": tables.jobs, "fleet": tables.fleet}) % SECOND == 0


def test_a_table_is_ready_when_it_is_there_and_is_completed_twice_as_well_as_once(
    reached: Reach, tables: TableNames, emulator_endpoint: str
) -> None:
    target = f"{tables.jobs}-restored"
    assert not reached.backups.is_ready(target)
    reached.backups.begin(tables.jobs, target, Instant(0))
    assert reached.backups.is_ready(target)
    for _ in range(2):
        reached.backups.complete(target, ttl="expires_at")
    ttl = endpoints.dynamodb(emulator_endpoint).describe_time_to_live(TableName=target)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "expires_at"


def test_nothing_is_due_in_an_empty_fleet_and_the_stack_may_be_wrong(
    reached: Reach, emulator_endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recovery.misfires(reached).found == []
    with aws_environment(emulator_endpoint):
        assert recovery.main(["restore", "--stack", "Nowhere", "--prefix", "restored"]) == 1
        assert recovery.main(["misfires", "--prefix", "nowhere"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("stack Nowhere cannot be read")
    assert "ResourceNotFoundException" in said[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["restore", "--stack", "Data", "--prefix", "p", "--at", "yesterday"], "is no instant: write it as 2026-11-30"),
        (["restore", "--stack", "Data"], "--prefix"),
        (["misfires"], "--prefix --stack is required"),
        ([], "restore|misfires"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        recovery.main(arguments)
    assert said in capsys.readouterr().err


def test_restored_tables_are_named_by_their_prefix() -> None:
    assert targets_of("r") == {name: f"r-{name}" for name in (table.name for table in TABLES)}
