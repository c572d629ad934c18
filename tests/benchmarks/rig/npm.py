"""Programs for Node that only benches use, installed by their lock file beside the checkout's own files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from localstack.toolchain.paths import LOCAL


class NodeMissing(Exception):
    """Node, npm or a package is not here; the text says which."""


def node() -> str:
    """Raises NodeMissing."""
    return _program("node")


def installed(source: Path, environ: Mapping[str, str]) -> Path:
    """A copy of the folder `source` with the packages that its lock file names. Raises NodeMissing."""
    npm, folder = _program("npm"), LOCAL / "benchmarks" / source.name
    folder.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        shutil.copy(path, folder)
    lock, done = folder / "package-lock.json", folder / "installed.json"
    if not done.exists() or done.read_bytes() != lock.read_bytes():
        asked = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        ended = subprocess.run(asked, cwd=folder, env=dict(environ), capture_output=True, text=True, check=False)
        if ended.returncode:
            raise NodeMissing(f"npm ci failed: {ended.stderr.strip()[-300:]}")
        shutil.copy(lock, done)
    return folder


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NodeMissing(f"{name} is not installed")
    return found
