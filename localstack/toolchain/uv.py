"""Finds uv, or puts the pinned one into `.local/uv`."""

from __future__ import annotations

import hashlib
import io
import platform
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from localstack.toolchain.index_client import IndexUnreachable, fetch_file
from localstack.toolchain.paths import LOCAL
from localstack.toolchain.problem import SetupProblem
from localstack.toolchain.uv_settings import index_url

VERSION = "0.13.9"
# An older uv may read the lock differently; a newer one keeps what the pinned one does.
OLDEST = (0, 13)
WHEELS = {
    ("linux", "x86_64"): (
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19",
    ),
    ("linux", "aarch64"): (
        "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
    ),
    ("darwin", "x86_64"): ("macosx_10_12_x86_64", "c16ed11e013557536b3e60065f1b912f6407bd6518e041b961e23ef9e6b4fbf5"),
    ("darwin", "arm64"): ("macosx_11_0_arm64", "66c512266d633bef48384a1f53003f41f2a8e7b36fe6e7fbfd3e0fd52d96fa63"),
}
OWN = LOCAL / "uv" / VERSION / "uv"


def find_uv(environ: Mapping[str, str]) -> Path | None:
    """The uv to use, if there is one already: ours first, then a recent one on PATH."""
    if OWN.is_file():
        return OWN
    found = shutil.which("uv", path=environ.get("PATH"))
    return Path(found) if found and _is_recent(found) else None


def ensure_uv(environ: Mapping[str, str]) -> Path:
    """Uv to use from here on.

    Raises:
        SetupProblem: there is none and none could be installed.
    """
    found = find_uv(environ)
    if found:
        return found
    print(f"setup: installing uv {VERSION} into .local", file=sys.stderr)
    try:
        binary = _binary_of_wheel(environ)
    except IndexUnreachable as unreachable:
        binary = _binary_from_pip(environ, str(unreachable))
    OWN.parent.mkdir(parents=True, exist_ok=True)
    half = OWN.with_suffix(".part")
    half.write_bytes(binary)
    half.chmod(half.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    half.replace(OWN)
    return OWN


def _is_recent(uv: str) -> bool:
    try:
        answer = subprocess.run([uv, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return False
    numbers = re.match(rb"uv (\d+)\.(\d+)", answer.stdout)
    return numbers is not None and (int(numbers.group(1)), int(numbers.group(2))) >= OLDEST


def _binary_of_wheel(environ: Mapping[str, str]) -> bytes:
    tag, expected = WHEELS.get((sys.platform, platform.machine()), ("", ""))
    if not tag:
        raise IndexUnreachable(f"no wheel of uv is pinned for {sys.platform} on {platform.machine()}")
    wheel = fetch_file(index_url(environ), "uv", f"uv-{VERSION}-py3-none-{tag}.whl", environ)
    if hashlib.sha256(wheel).hexdigest() != expected:
        raise SetupProblem(
            f"the index sent a uv {VERSION} that is not the pinned one",
            fix="use another index (PIP_INDEX_URL=...), or install uv yourself so that it is on PATH",
        )
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return archive.read(f"uv-{VERSION}.data/scripts/uv")


def _binary_from_pip(environ: Mapping[str, str], before: str) -> bytes:
    target = LOCAL / "uv" / "pip"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    done = subprocess.run(
        [*command, f"uv=={VERSION}"], env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    try:
        if done.returncode == 0:
            return (target / "bin" / "uv").read_bytes()
    finally:
        shutil.rmtree(str(target), ignore_errors=True)
    last = (done.stdout.decode(errors="replace").strip().splitlines() or ["no answer"])[-1]
    raise SetupProblem(
        f"uv is not installed and could not be fetched: {before}; pip: {last}",
        fix="connect to the network or set PIP_INDEX_URL to an index you reach, then run the command again",
    )
