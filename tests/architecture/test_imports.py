"""The import rules, executed: domain <- ports <- adapters; functions use ports, and only a wiring.py knows adapters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("shared", "functions", "infra", "localstack", "carillon")
FUNCTIONS = ("api", "scheduler", "worker", "dead_letters")

#: The first prefix that fits a module decides which of the project's own modules it may import.
RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("shared.domain", ("shared.domain",)),
    ("shared.ports", ("shared.domain", "shared.ports")),
    ("shared.adapters", ("shared.domain", "shared.ports", "shared.adapters", "shared.schema", "shared.config")),
    ("shared.schema", ()),
    ("shared.config", ("shared.schema",)),
    ("shared.observability", ("shared.domain", "shared.ports", "shared.observability")),
    ("functions.scheduler.wheel", ("functions.scheduler.wheel",)),
    *(
        (
            f"functions.{name}",
            (
                f"functions.{name}",
                "shared.domain",
                "shared.ports",
                "shared.config",
                "shared.schema",
                "shared.observability",
                "carillon",
            ),
        )
        for name in FUNCTIONS
    ),
    # It drives the adapters themselves: that is what it proves.
    ("infra.prove", ("infra", "shared", "carillon")),
    ("infra", ("infra", "shared.schema", "shared.config")),
    ("localstack", ("localstack", "shared", "carillon")),
    ("carillon", ("carillon", "shared.domain")),
)
#: What only adapters may know of the outside.
CLOUD = ("boto3", "botocore")
#: What would make a decision depend on when and where it is taken.
CLOCK_AND_DICE = ("time", "random", "secrets", "uuid")


def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if "node_modules" in path.parts or "cdk.out" in path.parts:
                continue
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def imports(source: str) -> Iterator[str]:
    """Every module a source imports, and `module.name` for names taken from one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_under(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


def violations(name: str, source: str) -> list[str]:
    rule = next((allowed for prefix, allowed in RULES if is_under(name, prefix)), None)
    if rule is None:
        return [] if name in PACKAGES or name == "functions" else [f"{name} belongs to no layer"]
    allowed = (*rule, "shared.adapters") if name.endswith(".wiring") else rule
    found = []
    for imported in imports(source):
        is_ours = imported.split(".")[0] in PACKAGES
        if is_ours and not any(is_under(imported, prefix) for prefix in allowed):
            found.append(f"{name} imports {imported}")
        is_cloudless = not is_under(name, "shared.adapters") and not name.endswith(".wiring")
        if is_cloudless and is_under(name, "shared") and imported.split(".")[0] in CLOUD:
            found.append(f"{name} imports {imported}")
    return found


def unclean(name: str, source: str) -> list[str]:
    """Reads of clock or dice; `shared/adapters/system.py` alone may."""
    if name == "shared.adapters.system" or not (is_under(name, "shared") or is_under(name, "functions")):
        return []
    found = [f"{name} imports {each}" for each in imports(source) if each.split(".")[0] in CLOCK_AND_DICE]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            what = ast.unparse(node.func)
            if what in {"datetime.now", "datetime.utcnow", "datetime.datetime.now", "date.today", "os.urandom"}:
                found.append(f"{name} calls {what}")
    return found


@pytest.mark.parametrize(("name", "path"), modules().items(), ids=str)
def test_a_module_imports_only_what_its_layer_may(name: str, path: Path) -> None:
    assert violations(name, path.read_text()) == []


@pytest.mark.parametrize(("name", "path"), modules().items(), ids=str)
def test_nobody_else_reads_the_clock_or_rolls_dice(name: str, path: Path) -> None:
    allowed = {"shared.adapters.memory.clock": [f"{'shared.adapters.memory.clock'} imports random.Random"]}
    assert unclean(name, path.read_text()) == allowed.get(name, [])


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("shared.domain.job", "from shared.ports import Clock"),
        ("shared.domain.job", "import boto3"),
        ("shared.ports.clock", "from shared.adapters.system import SystemClock"),
        ("functions.api.jobs", "from functions.worker import executor"),
        ("functions.api.wiring", "from functions.worker import executor"),
        ("functions.worker.executor", "from shared.adapters.system import SystemClock"),
        ("functions.scheduler.wheel.level", "from shared.domain.instants import Instant"),
        ("functions.scheduler.wheel", "import functions.scheduler.node"),
        ("infra.data_stack", "from shared.adapters.system import SystemClock"),
        ("carillon.client", "from shared.ports import Clock"),
        ("shared.stray", "x = 1"),
    ],
)
def test_a_planted_import_is_caught(name: str, source: str) -> None:
    assert violations(name, source)


@pytest.mark.parametrize(
    "source",
    ["import time", "from time import sleep", "import uuid", "x = datetime.now()", "x = datetime.datetime.now()"],
)
def test_a_planted_clock_is_caught(source: str) -> None:
    assert unclean("functions.worker.executor", source)


def test_wiring_may_know_adapters() -> None:
    assert violations("functions.api.wiring", "from shared.adapters.system import SystemClock") == []
