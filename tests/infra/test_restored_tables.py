"""The service on tables that were restored, while the data stack keeps its own."""

from __future__ import annotations

import json

import pytest

from shared.config import table_variable
from shared.schema import TABLES
from tests.infra.synthesis import Synthesis, synthesise

NAMES = {table.name: f"restored-{table.name}" for table in TABLES}


@pytest.fixture(scope="module")
def restored() -> Synthesis:
    return synthesise("prod", restored_tables=NAMES)


def test_everybody_is_told_the_restored_tables(restored: Synthesis) -> None:
    tasks = [restored.container(program)["Environment"] for program in ("scheduler", "worker")]
    functions = [each["Environment"]["Variables"] for each in restored.of_type("AWS::Lambda::Function").values()]
    told = [{each["Name"]: each["Value"] for each in task} for task in tasks] + functions
    variables = {table_variable(name): physical for name, physical in NAMES.items()}

    for each in told:
        mine = {name: value for name, value in each.items() if name in variables}
        assert mine
        assert mine == {name: variables[name] for name in mine}


def test_roles_reach_the_restored_tables_with_their_indexes_and_none_of_the_others(
    restored: Synthesis, prod: Synthesis
) -> None:
    written = json.dumps(list(restored.statements()))

    assert "DataTables" not in json.dumps(restored.service.to_json())
    assert "DataTables" in json.dumps(prod.service.to_json())
    for name in NAMES.values():
        assert f":table/{name}" in written
    assert ":table/restored-job_schedules/index/by_next" in written


def test_the_data_stack_stays_as_it_is_and_goes_on_to_export_what_the_service_still_imports(
    restored: Synthesis, prod: Synthesis
) -> None:
    assert restored.data.to_json() == prod.data.to_json()
    exported = [each for each in restored.data.to_json()["Outputs"] if each.startswith("ExportsOutput")]
    assert len([each for each in exported if "Tables" in each]) == 2 * len(TABLES)
