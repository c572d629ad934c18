"""Installs the locked Python packages into `.venv`, and fetches what the bundles of the deployables are made of."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from localstack.toolchain import stamps
from localstack.toolchain.index_client import without_credentials
from localstack.toolchain.paths import ROOT, VENV_PYTHON
from localstack.toolchain.problem import SetupProblem
from localstack.toolchain.uv import VERSION
from localstack.toolchain.uv_settings import index_url, mirror_of

BUNDLED_GROUPS = ("api", "worker", "tracing")
LAMBDA_PLATFORM = ("--python-platform", "aarch64-manylinux2014", "--python-version", "3.13", "--only-binary", ":all:")
TAIL_LINES = 15


def ensure_packages(uv: Path, environ: Mapping[str, str]) -> None:
    """Brings `.venv` to the lock. Without changes it does nothing and needs no network.

    Raises:
        SetupProblem: uv could not install them.
    """
    wanted = stamps.digest(ROOT / "pyproject.toml", ROOT / "uv.lock", str(ROOT), VERSION)
    if stamps.is_done("packages", wanted, made=VENV_PYTHON):
        return
    stamps.forget("packages")
    print("setup: installing the Python packages of uv.lock into .venv", file=sys.stderr)
    if mirror_of(environ):
        _install_from_mirror(uv, environ)
    else:
        _run(uv, environ, "sync", "--locked")
    stamps.mark_done("packages", wanted)


def prefetch_bundles(uv: Path, environ: Mapping[str, str]) -> None:
    """Puts into uv's cache what bundling installs, for this machine and for AWS, so that synth needs no network.

    Raises:
        SetupProblem: a package could not be fetched.
    """
    wanted = stamps.digest(ROOT / "uv.lock", LAMBDA_PLATFORM, _run(uv, environ, "cache", "dir"))
    if stamps.is_done("bundles", wanted, made=VENV_PYTHON):
        return
    print("setup: fetching the packages that Lambda bundles are made of", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        for group in BUNDLED_GROUPS:
            listed = _requirements(uv, environ, Path(scratch), "--only-group", group)
            for name, platform in (("aws", LAMBDA_PLATFORM), ("here", ("--python", str(VENV_PYTHON)))):
                target = str(Path(scratch) / f"{group}-{name}")
                arguments = ("--no-deps", "--require-hashes", "--target", target, *platform)
                _run(uv, environ, "pip", "install", *arguments, "-r", str(listed))
    stamps.mark_done("bundles", wanted)


def _install_from_mirror(uv: Path, environ: Mapping[str, str]) -> None:
    """`uv sync` fetches from the addresses in the lock; a machine with a mirror often reaches nothing else.

    So the same versions, checked by the same hashes, are installed from the mirror by name.
    """
    with tempfile.TemporaryDirectory() as scratch:
        listed = _requirements(uv, environ, Path(scratch))
        if not VENV_PYTHON.exists():
            _run(uv, environ, "venv", "--clear", str(VENV_PYTHON.parent.parent))
        _run(uv, environ, "pip", "sync", "--python", str(VENV_PYTHON), "--require-hashes", str(listed))
    _run(uv, environ, "pip", "install", "--python", str(VENV_PYTHON), "--no-deps", "--editable", str(ROOT))


def _requirements(uv: Path, environ: Mapping[str, str], scratch: Path, *options: str) -> Path:
    name = "-".join(("requirements", *[option.strip("-") for option in options])) + ".txt"
    text = _run(uv, environ, "export", "--frozen", "--no-emit-project", "--no-header", *options)
    (scratch / name).write_text(text)
    return scratch / name


def _run(uv: Path, environ: Mapping[str, str], *arguments: str) -> str:
    command: Sequence[str] = (str(uv), *arguments)
    done = subprocess.run(command, cwd=str(ROOT), env=dict(environ), capture_output=True, check=False)
    if done.returncode == 0:
        return done.stdout.decode()
    said = done.stderr.decode(errors="replace").strip().splitlines()[-TAIL_LINES:]
    raise SetupProblem(
        "uv {} failed:\n    {}".format(" ".join(arguments[:2]), "\n    ".join(said)), fix=_fix("\n".join(said), environ)
    )


def _fix(said: str, environ: Mapping[str, str]) -> str:
    if "needs to be updated" in said:
        return "uv lock"
    if "No space left" in said:
        free = shutil.disk_usage(str(ROOT)).free // 2**20
        return f"free some disk space: {free} MB are left, about 1500 MB are needed"
    if "No interpreter" in said or "cpython-" in said:
        return "install Python 3.11 to 3.14, for example: sudo apt install python3.11, or brew install python@3.13"
    index = without_credentials(index_url(environ))
    return f"check that {index} is reachable, or set PIP_INDEX_URL to an index that is, then run it again"
