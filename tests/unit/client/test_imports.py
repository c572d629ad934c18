"""Who imports what: deployables bundle this package without the client's dependency."""

from __future__ import annotations

import subprocess
import sys

import pytest


def modules_after(statement: str) -> set[str]:
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import carillon", "import carillon.handlers", "import carillon.fencing"])
def test_what_workers_import_brings_no_http_client(statement: str) -> None:
    assert not {"httpx", "carillon.client"} & modules_after(statement)


def test_the_client_imports_neither_boto3_nor_the_system_behind_the_api() -> None:
    found = {name.partition(".")[0] for name in modules_after("import carillon.client, carillon.cli")}
    assert not {"boto3", "botocore", "pydantic", "shared", "functions"} & found
