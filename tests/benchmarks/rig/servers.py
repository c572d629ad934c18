"""Stores for one run of a bench: on a free port of the loopback, over a folder that is thrown away."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from localstack import processes
from localstack.emulator import HOST, free_port
from localstack.processes import Running
from tests.benchmarks.rig.npm import NodeMissing, installed, node

READY_SECONDS = 20.0
GRACE_SECONDS = 10.0
ANY_PORT = 0
#: Where Debian keeps what only `pg_ctlcluster` should call.
POSTGRES_FOLDERS = Path("/usr/lib/postgresql")
DYNALITE = Path(__file__).parent / "dynalite"


class ServerMissing(Exception):
    """The program is not on this machine; the text says what to install."""


@contextmanager
def redis(folder: Path) -> Iterator[tuple[str, Running]]:
    """Its URL and process. Writes are on disk within a second, as its documentation advises for a queue."""
    program = shutil.which("redis-server")
    if program is None:
        raise ServerMissing("redis-server is not installed: apt-get install redis-server")
    port = free_port(ANY_PORT)
    options = {"bind": HOST, "port": str(port), "dir": str(folder), "appendonly": "yes", "appendfsync": "everysec"}
    command = [program, "--save", "", *(word for name, value in options.items() for word in (f"--{name}", value))]
    with _server("redis", command, folder, port) as process:
        yield f"redis://{HOST}:{port}/0", process


@contextmanager
def postgres(folder: Path) -> Iterator[tuple[str, Running]]:
    """Its URL and process, with the settings of a fresh cluster (fsync is on)."""
    initdb, program = _postgres_program("initdb"), _postgres_program("postgres")
    as_user = _as_ordinary_user(folder)
    data = folder / "data"
    asked = [*as_user, initdb, "-D", str(data), "-U", "bench", "--auth=trust", "--no-instructions"]
    subprocess.run(asked, check=True, capture_output=True, cwd=folder)
    port = free_port(ANY_PORT)
    command = [*as_user, program, "-D", str(data), "-h", HOST, "-p", str(port), "-k", str(folder)]
    with _server("postgres", command, folder, port) as process:
        yield f"postgresql://bench@{HOST}:{port}/postgres", process


@contextmanager
def dynalite(folder: Path) -> Iterator[tuple[str, Running]]:
    """Its URL and process: DynamoDB's tables over sorted keys in memory, so that a page costs what it holds."""
    try:
        program = installed(DYNALITE, _environment()) / "node_modules" / "dynalite" / "cli.js"
        command = [node(), str(program), "--host", HOST, "--createTableMs", "0"]
    except NodeMissing as missing:
        raise ServerMissing(str(missing)) from missing
    port = free_port(ANY_PORT)
    with _server("dynalite", [*command, "--port", str(port)], folder, port) as process:
        yield f"http://{HOST}:{port}", process


@contextmanager
def throwaway_folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="carillon-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def _server(name: str, command: Sequence[str], folder: Path, port: int) -> Iterator[Running]:
    log = folder / f"{name}.log"
    process = processes.start(name, command, environ=_environment(), folder=folder, log=log)
    try:
        processes.wait_until(lambda: not process.is_alive() or _answers(port), timeout_seconds=READY_SECONDS)
        if not process.is_alive():
            raise ServerMissing(f"{name} did not start: {log.read_text(encoding='utf-8', errors='replace')[-500:]}")
        yield process
    finally:
        processes.stop([process], grace_seconds=GRACE_SECONDS)


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", ""), "LC_ALL": "C.UTF-8"}


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _postgres_program(name: str) -> str:
    inside = sorted(POSTGRES_FOLDERS.glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name) or (str(inside[0]) if inside else None)
    if found is None:
        raise ServerMissing(f"{name} is not installed: apt-get install postgresql")
    return found


def _as_ordinary_user(folder: Path) -> list[str]:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    users = {user.pw_name: user for user in pwd.getpwall()}
    user = users.get("postgres") or users.get("nobody")
    if setpriv is None or user is None:
        raise ServerMissing("PostgreSQL does not run as root, and here is no setpriv, or no user to run it as")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
