"""The first key of a deployment, written past the API, opens the API."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carillon.client import Client
from functions.api import first_key
from functions.api.resolving import build
from functions.api.wiring import key_store
from shared.config import TableNames
from tests.emulator import aws_environment
from tests.unit.api.world import World
from tests.unit.client.api import URL, FakeTime, InProcess

pytestmark = pytest.mark.emulator


def test_the_key_that_is_printed_makes_others(
    emulator_endpoint: str, tables: TableNames, capsys: pytest.CaptureFixture[str]
) -> None:
    with aws_environment(emulator_endpoint):
        assert first_key.main(["--table", tables.access, "--owner", "acme"]) == 0
        stored = key_store(tables.access)
    key = capsys.readouterr().out.strip()
    backend = replace(World().backend(), access=stored.access, clock=stored.clock)
    client = Client(URL, key, transport=InProcess(build(backend)), time=FakeTime().seams)
    made = client.create_key(scopes=["read"], name="dashboard")
    assert made["created_by"] == f"key:crl_{key.split('_')[1]}"
    assert {each["name"]: each["created_by"] for each in client.list_keys()}["first key"] == "operator"


def test_a_table_that_is_not_there_is_said(emulator_endpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with aws_environment(emulator_endpoint):
        assert first_key.main(["--table", "nowhere", "--owner", "acme"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.partition(":")[0]) == ("", "no key was made")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table", "t", "--owner", "a b"], "is no owner"),
        (["--owner", "acme"], "output AccessTable"),
        (["--table", "t", "--owner", "acme", "--name", "x" * 201], "at most 200"),
        (["--table", "t", "--owner", "acme", "--scope", "root"], "invalid choice"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARILLON_ACCESS_TABLE", raising=False)
    with pytest.raises(SystemExit):
        first_key.main(arguments)
    assert said in capsys.readouterr().err
