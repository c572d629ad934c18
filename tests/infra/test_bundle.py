"""A bundle holds what its deployable imports and what its group locks, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import pytest

from infra import bundle
from infra.bundle import Bundle, BundlingFailed
from infra.settings import Handlers
from tests.infra.synthesis import Synthesis, actions_of

OURS = {"shared", "functions"}
OWN_HANDLERS = bundle.ROOT / "tests" / "own_handlers"


def needs_uv() -> None:
    try:
        bundle.find_uv(os.environ)
    except BundlingFailed as failure:
        pytest.skip(str(failure))


@pytest.fixture(scope="module")
def requirements() -> str:
    needs_uv()
    return bundle.requirements_of(bundle.API)


@pytest.fixture(scope="module")
def api(requirements: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The API's bundle for this machine."""
    target = tmp_path_factory.mktemp("api")
    # As CDK hands it over.
    target.chmod(0o777)
    bundle.build(bundle.API, requirements, target, is_emulated=True)
    return target


def test_it_holds_the_packages_its_group_locks_and_the_sources_it_imports(api: Path, requirements: str) -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==(\S+)", requirements, flags=re.MULTILINE))
    installed = {
        (found[1].lower().replace("_", "-").replace(".", "-"), found[2])
        for path in api.iterdir()
        if (found := re.fullmatch(r"(.+)-(\d[^-]*)\.dist-info", path.name))
    }
    imported = {name for each, _ in locked for name in top_levels(each)}
    others = {path.name for path in api.iterdir() if not path.name.endswith((".dist-info", ".libs", "__pycache__"))}

    assert installed == locked
    assert others - imported == OURS


def test_nobody_but_its_owner_may_add_to_what_is_deployed(api: Path) -> None:
    writable = [path for path in (api, *api.rglob("*")) if path.stat().st_mode & 0o022]

    assert writable == []


def top_levels(package: str) -> set[str]:
    files = distribution(package).files or []
    return {path.parts[0] for path in files}


@pytest.mark.parametrize(
    ("handler", "made_of"),
    [("functions.api.app.handler", bundle.API), ("functions.dead_letters.handler.handler", bundle.DEAD_LETTERS)],
    ids=["api", "dead letters"],
)
def test_botocore_describes_every_service_that_the_role_may_call(
    prod: Synthesis, handler: str, made_of: Bundle
) -> None:
    statements = prod.statements_of(prod.function(handler)["Role"])
    called = {action.partition(":")[0] for statement in statements for action in actions_of(statement)}

    # Lambda itself writes the log.
    assert called - {"logs", "xray"} == {*(made_of.aws_services or ())}


def test_it_leaves_out_what_the_api_does_not_import(api: Path) -> None:
    assert (api / "functions" / "api").is_dir()
    assert sorted(path.name for path in (api / "functions").iterdir() if path.is_dir()) == ["__pycache__", "api"]
    assert not (api / "shared" / "adapters" / "memory").exists()
    assert not (api / "shared" / "adapters" / "sqs").exists()
    described = {path.name for path in (api / "botocore" / "data").iterdir() if path.is_dir()}
    assert described == {"dynamodb", "events"}


def test_the_api_can_be_imported_with_nothing_else_on_the_path(api: Path) -> None:
    assert_imports(api, "functions.api.app", "functions.api.wiring")


def test_the_worker_can_be_imported_with_nothing_else_on_the_path(tmp_path: Path) -> None:
    needs_uv()
    bundle.build(bundle.WORKER, bundle.requirements_of(bundle.WORKER), tmp_path, is_emulated=True)

    assert_imports(tmp_path, "functions.worker.lambda_host", "functions.worker.wiring")


def test_handlers_of_the_deployments_own_are_found_in_the_bundle_with_what_they_import(tmp_path: Path) -> None:
    needs_uv()
    source = replace(bundle.WORKER, besides=(("handlers", OWN_HANDLERS),))
    bundle.build(source, bundle.requirements_of(source), tmp_path, is_emulated=True)
    told = Handlers(folder=str(OWN_HANDLERS), modules=("letters",)).variables("handlers")

    program = "import os; from functions.worker import wiring; wiring.register_handlers(os.environ)"
    names = run_in(tmp_path, f"{program}; from carillon.handlers import registry; print(*registry.names)", **told)

    assert names.split() == ["echo", "fail", "letter", "sleep"]


def test_another_handler_makes_another_digest(tmp_path: Path, requirements: str) -> None:
    (tmp_path / "letters.py").write_text("A = 1\n")
    source = replace(bundle.WORKER, besides=(("handlers", tmp_path),))
    first = bundle.digest(source, requirements, is_emulated=False)

    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "letters.pyc").write_bytes(b"")
    assert bundle.digest(source, requirements, is_emulated=False) == first
    (tmp_path / "letters.py").write_text("A = 2\n")
    assert bundle.digest(source, requirements, is_emulated=False) != first


def assert_imports(target: Path, *modules: str) -> None:
    """Where its own packages are the only ones: -S leaves out site-packages, -P the working directory."""
    program = f"import {', '.join(modules)}, boto3; boto3.client('dynamodb'); print(boto3.__file__)"
    assert run_in(target, program).startswith(str(target))


def run_in(target: Path, program: str, **variables: str) -> str:
    """What it prints."""
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", program],
        env={"PYTHONPATH": str(target), "PYTHONTZPATH": "", "AWS_DEFAULT_REGION": "us-east-1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_inputs_make_the_same_digest_and_others_another(requirements: str) -> None:
    first = bundle.digest(bundle.API, requirements, is_emulated=False)

    assert bundle.digest(bundle.API, requirements, is_emulated=False) == first
    assert bundle.digest(bundle.API, requirements, is_emulated=True) != first
    assert bundle.digest(bundle.API, requirements + "\n", is_emulated=False) != first
    assert bundle.digest(bundle.WORKER, requirements, is_emulated=False) != first


def test_bytecode_and_caches_are_no_source() -> None:
    files = list(bundle.API.files())

    assert Path("functions/api/__init__.py") in files
    assert not [path for path in files if "__pycache__" in path.parts or path.suffix == ".pyc"]


def test_a_source_that_is_not_there_is_named() -> None:
    with pytest.raises(BundlingFailed, match="bundle api needs functions/nothing, which is not in this checkout"):
        list(Bundle("api", sources=("functions/nothing",)).files())


def test_a_uv_that_is_named_is_taken() -> None:
    assert bundle.find_uv({"CARILLON_UV": "/opt/uv", "PATH": ""}) == "/opt/uv"
