"""Puts microburst, the proxy that makes faults, into an environment of its own: it needs another botocore than ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from localstack.toolchain import stamps
from localstack.toolchain.paths import LOCAL, ROOT
from localstack.toolchain.problem import SetupProblem

LOCKED = ROOT / "localstack" / "microburst.txt"
VENV = LOCAL / "microburst"
PROGRAM = VENV / "bin" / "microburst"


def ensure_microburst(uv: Path, environ: Mapping[str, str]) -> Path:
    """The program, installed as locked. Without changes it does nothing and needs no network.

    Raises:
        SetupProblem: uv could not install it.
    """
    wanted = stamps.digest(LOCKED, str(ROOT))
    if stamps.is_done("microburst", wanted, made=PROGRAM):
        return PROGRAM
    stamps.forget("microburst")
    print("setup: installing microburst, which makes the faults of the tests, into .local/microburst", file=sys.stderr)
    _run(uv, environ, "venv", "--clear", str(VENV))
    install = ("pip", "install", "--python", str(VENV / "bin" / "python"), "--require-hashes", "--no-deps")
    _run(uv, environ, *install, "-r", str(LOCKED))
    stamps.mark_done("microburst", wanted)
    return PROGRAM


def _run(uv: Path, environ: Mapping[str, str], *arguments: str) -> None:
    command = [str(uv), *arguments]
    done = subprocess.run(command, cwd=str(ROOT), env=dict(environ), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise SetupProblem(
            f"uv {arguments[0]} failed for microburst:\n    {said}",
            fix="connect to the network, or set PIP_INDEX_URL to an index you reach, then run the command again",
        )
