"""What a Lambda function's asset is made of, and how it is made without Docker.

A bundle is the sources a deployable imports and the packages of its dependency group, at the versions and hashes of
`uv.lock`: for AWS as wheels of Lambda's own platform, for the emulator as wheels of this machine.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode

ROOT = Path(__file__).resolve().parents[1]
#: Bump it when the recipe below changes, so that bundles made by the old one are not taken for new.
RECIPE = "2"
UV_VARIABLE = "CARILLON_UV"
#: What a deployable has besides its own group where an environment traces.
TRACING_GROUP = "tracing"

READABLE = 0o755
AWS_PYTHON = "3.13"
_FOR_AWS = ("--python-platform", "aarch64-manylinux2014", "--python-version", AWS_PYTHON, "--only-binary", ":all:")
#: The emulator runs functions under its own Python, which is the one that runs this.
_FOR_HERE = ("--python", sys.executable)
#: Written by tools while they run; neither is source.
_NOT_SOURCE = frozenset(["__pycache__", ".mypy_cache", ".ruff_cache"])


class BundlingFailed(Exception):
    """A bundle could not be made; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """One deployable: its dependency group, and the paths below the checkout that it imports, less what it does not.

    `aws_services` are the only ones it calls, None for any: the descriptions of all the others are four fifths of a
    bundle, and every cold start unpacks them.
    """

    group: str
    sources: tuple[str, ...]
    without: tuple[str, ...] = ()
    aws_services: tuple[str, ...] | None = None
    #: Further groups of packages.
    also: tuple[str, ...] = ()
    #: Folders from anywhere, with the name that each has in the bundle.
    besides: tuple[tuple[str, Path], ...] = ()

    def files(self) -> Iterator[Path]:
        """Every source file, relative to the checkout, in a fixed order."""
        for source in self.sources:
            root = ROOT / source
            if not root.exists():
                raise BundlingFailed(f"bundle {self.group} needs {source}, which is not in this checkout")
            found = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
            yield from (relative for path in found if self._belongs(relative := path.relative_to(ROOT)))

    def contents(self) -> Iterator[tuple[Path, Path]]:
        """What is copied: each path in the bundle, and where the file is."""
        yield from ((path, ROOT / path) for path in self.files())
        for name, folder in self.besides:
            found = sorted(path for path in folder.rglob("*") if path.is_file())
            yield from ((name / relative, path) for path in found if _is_source(relative := path.relative_to(folder)))

    def _belongs(self, path: Path) -> bool:
        return _is_source(path) and not any(path.is_relative_to(excluded) for excluded in self.without)


def _is_source(path: Path) -> bool:
    return not _NOT_SOURCE.intersection(path.parts) and path.suffix != ".pyc"


API = Bundle(
    "api",
    sources=("shared", "functions/__init__.py", "functions/api"),
    without=("shared/adapters/memory", "shared/adapters/sqs"),
    aws_services=("dynamodb", "events"),
)
WORKER = Bundle(
    "worker",
    sources=("shared", "functions/__init__.py", "functions/worker", "carillon"),
    without=("shared/adapters/memory",),
)
DEAD_LETTERS = Bundle(
    # It imports what a scheduler does.
    "scheduler",
    sources=("shared", "functions/__init__.py", "functions/dead_letters"),
    without=("shared/adapters/memory",),
    aws_services=("dynamodb", "events", "sqs"),
)


def requirements_of(bundle: Bundle) -> str:
    """The locked packages of its group, with hashes. Needs uv, and no network. Raises BundlingFailed."""
    return run_uv(
        *("export", "--frozen", "--no-emit-project", "--no-header", "--no-annotate"),
        *(word for group in (bundle.group, *bundle.also) for word in ("--only-group", group)),
    )


def digest(bundle: Bundle, requirements: str, *, is_emulated: bool) -> str:
    """Names the outcome of `build`: the same inputs make the same bundle, so that one is not made twice."""
    seen = hashlib.sha256()
    bytecode = sys.version if _has_bytecode(is_emulated=is_emulated) else ""
    for part in (RECIPE, repr(bundle.aws_services), *_platform(is_emulated=is_emulated), bytecode, requirements):
        seen.update(part.encode() + b"\0")
    for path, source in bundle.contents():
        seen.update(path.as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return seen.hexdigest()


def build(bundle: Bundle, requirements: str, target: Path, *, is_emulated: bool) -> None:
    """Fill `target`, and let nobody else write to it: CDK makes it for everybody. Raises BundlingFailed."""
    target.chmod(READABLE)
    listed = target / "requirements.txt"
    listed.write_text(requirements)
    _install("--target", str(target), *_platform(is_emulated=is_emulated), "-r", str(listed))
    listed.unlink()
    # Command line programs of the packages, and the installer's own lock: nothing that a function imports.
    shutil.rmtree(target / "bin", ignore_errors=True)
    (target / ".lock").unlink(missing_ok=True)
    if bundle.aws_services is not None:
        _keep_services(target / "botocore" / "data", bundle.aws_services)
    for path, source in bundle.contents():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target / path)
    if _has_bytecode(is_emulated=is_emulated):
        _compile(target)


def _keep_services(descriptions: Path, services: tuple[str, ...]) -> None:
    missing = [service for service in services if not (descriptions / service).is_dir()]
    if missing:
        raise BundlingFailed(f"botocore describes no service {', '.join(missing)} in {descriptions}")
    for service in descriptions.iterdir():
        # Plain files beside them, such as the endpoints, are of no single service.
        if service.is_dir() and service.name not in services:
            shutil.rmtree(service)


def find_uv(environ: Mapping[str, str]) -> str:
    """The uv of CARILLON_UV, else of PATH, else the one that the make targets keep. Raises BundlingFailed."""
    named = environ.get(UV_VARIABLE)
    if named:
        return named
    found = shutil.which("uv", path=environ.get("PATH"))
    kept = sorted((ROOT / ".local" / "uv").glob("*/uv"))
    if found or kept:
        return found or str(kept[-1])
    raise BundlingFailed(f"uv is neither on PATH nor in .local/uv: run `make doctor`, or set {UV_VARIABLE} to it")


def _platform(*, is_emulated: bool) -> tuple[str, ...]:
    return _FOR_HERE if is_emulated else _FOR_AWS


def _has_bytecode(*, is_emulated: bool) -> bool:
    """Bytecode more than halves a cold start, and only the Python that will run it can make it."""
    return is_emulated or "{}.{}".format(*sys.version_info) == AWS_PYTHON


def _compile(target: Path) -> None:
    # By hash, for the archive does not keep the times of files; unchecked, for nobody edits a deployed function.
    compiled = compileall.compile_dir(target, quiet=2, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    if not compiled:
        raise BundlingFailed(f"some file in {target} is not Python")


def _install(*arguments: str) -> None:
    command = ("pip", "install", "--quiet", "--no-deps", "--require-hashes", *arguments)
    try:
        # What is cached needs no network, and asking for it anyway would make synth wait for one.
        run_uv(*command, "--offline")
    except BundlingFailed:
        try:
            run_uv(*command)
        except BundlingFailed as failure:
            raise BundlingFailed(f"{failure}\nrun `make prefetch` once where there is a network") from None


def run_uv(*arguments: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    done = subprocess.run(  # noqa: S603 - the program is the caller's uv, the arguments are ours
        [find_uv(os.environ), "--color", "never", *arguments],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    raise BundlingFailed(f"uv {' '.join(arguments[:2])} failed:\n{done.stderr.strip()}")
