"""What users install: built, and put into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from localstack.environment import for_tools
from localstack.toolchain.paths import ROOT
from localstack.toolchain.uv import ensure_uv

pytestmark = pytest.mark.timeout(300)


def uv(*arguments: str) -> None:
    """From the cache where that does, for then it needs no network; a package that neither has is a failure."""
    command = [str(ensure_uv(os.environ)), "--color", "never", *arguments]
    environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    for options in (("--offline",), ()):
        done = subprocess.run([*command, *options], cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    pytest.fail(f"uv {' '.join(arguments)}:\n{done.stderr}\nthis test needs a package index once, to fill uv's cache")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--wheel", "--out-dir", str(folder))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment") / "venv"
    uv("venv", "--python", sys.executable, str(folder))
    uv("pip", "install", "--python", str(folder / "bin" / "python"), str(wheel))
    return folder


def run(environment: Path, program: str, *arguments: str) -> str:
    done = subprocess.run(
        [environment / "bin" / program, *arguments],
        cwd=environment,
        env=for_tools(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_installs_one_name_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        needed = Parser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist")
    assert {name.partition("/")[0] for name in names} == {"carillon", metadata.partition("/")[0]}
    assert "carillon/py.typed" in names
    assert needed == ["httpx<1,>=0.28"]


def test_installed_it_has_one_name_at_the_top(environment: Path) -> None:
    program = (
        "from importlib.metadata import packages_distributions as found; "
        "print(*(name for name, owners in found().items() if 'carillon' in owners))"
    )
    assert run(environment, "python", "-c", program).split() == ["carillon"]


def test_the_client_is_imported_where_nothing_else_is_installed(environment: Path) -> None:
    program = (
        "import carillon, carillon.client, carillon.handlers; print(carillon.client.__file__, carillon.__version__)"
    )
    where, version = run(environment, "python", "-c", program).split()
    assert Path(where).is_relative_to(environment)
    assert version == run(environment, "carillon", "--version").split()[1]


def test_the_command_says_what_it_can_do(environment: Path) -> None:
    said = run(environment, "carillon", "--help")
    assert "jobs" in said
    assert "CARILLON_URL" in said


def test_its_version_is_that_of_the_distribution(environment: Path) -> None:
    program = (
        "from importlib.metadata import version; import carillon; print(version('carillon') == carillon.__version__)"
    )
    assert run(environment, "python", "-c", program) == "True\n"
