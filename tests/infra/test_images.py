"""The images, where there is no Docker: what their Dockerfiles say, and that it works when it is done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from infra.bundle import AWS_PYTHON, ROOT, TRACING_GROUP, BundlingFailed, find_uv
from shared.config import TableNames, queue_variable, table_variable
from tests.infra.dockerfile import Builder, Stage, read
from tests.infra.synthesis import Synthesis

PROGRAMS = ("scheduler", "worker")
NONE: Mapping[str, Path] = MappingProxyType({})
EACH_PROGRAM = pytest.mark.parametrize("program", PROGRAMS)
#: What tests, builds and the local stack need, and a task must not have.
DEVELOPMENT = ("pytest", "mypy", "ministack", "aws_cdk", "moto", "localstack_client", "pydantic", "croniter")


def stages(program: str) -> list[Stage]:
    return read(ROOT / "functions" / program / "Dockerfile")


@EACH_PROGRAM
def test_every_base_is_pinned_to_a_release_and_to_its_content(program: str) -> None:
    for stage in stages(program):
        if stage.base == "scratch":
            continue
        assert re.search(r":\d+\.\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$", stage.base), stage.base


def test_both_programs_stand_on_the_same_bases_and_something_raises_them() -> None:
    scheduler, worker = ([stage.base for stage in stages(program) if stage.base != "scratch"] for program in PROGRAMS)
    raised = json.loads((ROOT / "renovate.json").read_text())

    assert scheduler == worker
    assert scheduler[1] == scheduler[2]
    assert {"docker:pinDigests"} <= set(raised["extends"])


@EACH_PROGRAM
def test_the_image_runs_the_python_that_the_functions_run(program: str) -> None:
    final = stages(program)[-1]

    assert final.base.startswith(f"python:{AWS_PYTHON}.")


@EACH_PROGRAM
def test_the_process_is_nobody_in_particular_and_gets_the_signals_itself(program: str) -> None:
    final = stages(program)[-1]

    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", final.last("USER").text)
    assert final.command == ["python", "-P", "-m", f"functions.{program}"]
    assert not final.all_of("ENTRYPOINT")
    assert final.last("STOPSIGNAL").text == "SIGTERM"


@EACH_PROGRAM
def test_the_final_image_is_made_of_copies_and_a_folder_for_signs_of_life(program: str) -> None:
    final = stages(program)[-1]
    user, group = final.last("USER").text.split(":")
    folder = final.last("VOLUME").text

    assert [each.text for each in final.all_of("RUN")] == [f"install -d -o {user} -g {group} {folder}"]
    copies = [each.text for each in final.all_of("COPY") if not each.text.startswith("--from=build ")]
    assert copies == (["--from=handlers / /opt/handlers/"] if program == "worker" else [])


@EACH_PROGRAM
def test_packages_are_those_of_the_lock_and_of_the_programs_group(program: str) -> None:
    installs = [each.text for stage in stages(program) for each in stage.all_of("RUN") if "uv " in each.text]

    also = "${ALSO:+--only-group $ALSO}"
    assert installs == [f"uv sync --locked --only-group {program} {also} --no-install-project"]


@EACH_PROGRAM
def test_the_task_can_write_nowhere(prod: Synthesis, program: str) -> None:
    assert prod.container(program)["ReadonlyRootFilesystem"] is True


def built(program: str, folder: Path, *, also: str = "", contexts: Mapping[str, Path] = NONE) -> tuple[Builder, Stage]:
    """The image as a folder, with another group of packages if there is one; skips when uv has not got the packages and
    there is no network.
    """
    try:
        uv = find_uv(os.environ)
    except BundlingFailed as failure:
        pytest.skip(str(failure))
    cache = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    ignored = (ROOT / "functions" / program / "Dockerfile.dockerignore").read_text().splitlines()
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "HOME": str(folder),
        "UV_CACHE_DIR": cache,
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "UV_NO_CONFIG": "1",
        "ALSO": also,
    }
    builder = Builder(ROOT, ignored, folder, uv, environ, contexts)
    *_, build, final = stages(program)
    try:
        builder.build(build)
    except subprocess.CalledProcessError as failure:
        if "network was disabled" in failure.stderr or "offline" in failure.stderr:
            pytest.skip("the packages of the image are not in uv's cache: run `make prefetch`")
        pytest.fail(failure.stderr)
    builder.build(final)
    return builder, final


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@EACH_PROGRAM
@pytest.mark.timeout(180)
def test_what_the_image_installs_is_enough_to_start_and_nothing_more(program: str, tmp_path: Path) -> None:
    builder, final = built(program, tmp_path)
    before = files_below(builder.root(final))

    unset = builder.start(final, {})
    nowhere = builder.start(final, unreachable())

    assert unset.returncode == 1
    assert "environment variable CARILLON_JOBS_TABLE is not set" in unset.stderr
    # With all it is told it gets as far as its first call of AWS, which says that nobody gave it a Region.
    assert "NoRegionError" in nowhere.stderr
    assert files_below(builder.root(final)) == before
    packages = packages_of(builder, final)
    assert (packages / "tzdata").is_dir()
    assert not [name for name in (*DEVELOPMENT, "opentelemetry") if (packages / name).exists()]


def packages_of(builder: Builder, final: Stage) -> Path:
    return next((builder.root(final) / "opt" / "venv" / "lib").glob("python*")) / "site-packages"


@pytest.mark.timeout(180)
def test_the_image_of_an_environment_that_traces_can_trace(tmp_path: Path) -> None:
    builder, final = built("scheduler", tmp_path, also=TRACING_GROUP)
    tracing = {"CARILLON_TRACED_SHARE": "1", "CARILLON_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}

    started = builder.start(final, {**unreachable(), **tracing})

    assert (packages_of(builder, final) / "opentelemetry" / "sdk").is_dir()
    assert "NoRegionError" in started.stderr


@pytest.mark.timeout(180)
def test_the_image_of_a_deployment_with_handlers_of_its_own_has_them(tmp_path: Path) -> None:
    builder, final = built("worker", tmp_path, contexts={"handlers": ROOT / "tests" / "own_handlers"})
    folder = builder.inside(final, "/opt/handlers")
    told = {"CARILLON_HANDLERS": "letters,envelopes", "CARILLON_HANDLERS_FOLDER": folder}

    started = builder.start(final, {**unreachable(), **told, "AWS_DEFAULT_REGION": "us-east-1"})

    # The first of the two is there, with what it imports.
    assert "No module named 'envelopes'" in started.stderr


def unreachable() -> dict[str, str]:
    tables = {table_variable(name): name for name in TableNames.__slots__}
    return {**tables, queue_variable("default"): "http://127.0.0.1:9/000000000000/default"}
