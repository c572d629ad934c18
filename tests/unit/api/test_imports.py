"""A cold start pays for every import: the function imports what it needs, and nothing that only tools need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from shared.config import EVENT_BUS_VARIABLE, table_variable
from shared.schema import TABLES

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
import functions.api.app
from functions.api import wiring
from functions.api.resolving import build
build(wiring.backend())
print(*sys.modules)
"""
#: What the bundle's packages bring.
PACKAGES = {
    "aws_lambda_powertools", "boto3", "botocore", "jmespath", "s3transfer", "dateutil", "six", "urllib3",
    "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection", "tzdata",
    # botocore takes it where it is installed, which in the bundle it is not.
    "certifi",
}  # fmt: skip
#: Half a second each, and more.
TOOLS = ("functions.api.openapi", "hypothesis", "pytest", "moto", "aws_cdk", "opentelemetry", "jsonschema", "croniter")


def imported() -> list[str]:
    names = {table_variable(table.name): table.name for table in TABLES}
    keys = {
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }
    environment = {"PATH": os.environ["PATH"], **names, **keys, EVENT_BUS_VARIABLE: "bus", "PYTHONTZPATH": ""}
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{PROGRAM}"
    command = [sys.executable, "-P", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()


def test_the_function_imports_what_it_needs_and_nothing_else() -> None:
    found = imported()
    foreign = {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names)
    ours = {"shared", "functions", "__main__"}
    assert {name for name in foreign if not name.startswith("_")} - ours <= PACKAGES
    assert [name for name in found if name.startswith(TOOLS)] == []
    assert {name.rpartition(".")[0] for name in found if name.startswith("shared.adapters.memory")} == set()
