"""Says what this machine lacks: one line for each finding, and for each problem the command that fixes it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from localstack.toolchain import node, uv
from localstack.toolchain.index_client import without_credentials
from localstack.toolchain.paths import CDK, LOCAL, ROOT, VENV_PYTHON
from localstack.toolchain.uv_settings import index_url

OLDEST_PYTHON = (3, 8)
NEEDED_MEGABYTES = 1500
EMULATOR_PORT = 4566
NETWORK_TIMEOUT_SECONDS = 5


@dataclass(frozen=True)
class Finding:
    what: str
    fix: str | None = None

    def line(self) -> str:
        return f"problem  {self.what}\n         fix: {self.fix}" if self.fix else f"ok       {self.what}"


def quick_findings() -> Iterator[Finding]:
    """What no command can do without; takes milliseconds, so it runs before every one of them."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        yield Finding(f"python3 is {version}, too old", fix="install Python 3.8 or later as python3")
    else:
        yield Finding(f"python3 {version}")
    if sys.platform not in ("linux", "darwin"):
        yield Finding(f"{sys.platform} is not supported", fix="use Linux, macOS or WSL")
    if not os.access(str(ROOT), os.W_OK):
        yield Finding(f"{ROOT} cannot be written to", fix=f"sudo chown -R $(id -un) {ROOT}")


def all_findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    yield from quick_findings()
    yield _curl(environ)
    yield _uv(environ)
    yield _installed("Python packages", VENV_PYTHON.exists(), ".venv")
    yield _node(environ)
    yield _installed("CDK command line", CDK.exists(), "infra/node_modules")
    if not (VENV_PYTHON.exists() and CDK.exists()):
        yield _disk()
        yield _network(environ)
    yield _port()


def _curl(environ: Mapping[str, str]) -> Finding:
    if shutil.which("curl", path=environ.get("PATH")):
        return Finding("curl is there for the examples")
    return Finding("curl is missing: the examples need it", fix="sudo apt install curl, or brew install curl")


def _uv(environ: Mapping[str, str]) -> Finding:
    found = uv.find_uv(environ)
    return Finding(f"uv is {found}" if found else f"no recent uv on PATH: uv {uv.VERSION} will be put into .local")


def _installed(what: str, is_there: bool, where: str) -> Finding:
    return Finding(f"{what}: installed in {where}" if is_there else f"{what}: will be installed into {where}")


def _node(environ: Mapping[str, str]) -> Finding:
    found = node.find_node(environ)
    if found:
        return Finding(f"node is {found}")
    return Finding(f"no Node {node.OLDEST_MAJOR} on PATH: the one in the Python packages will be used")


def _disk() -> Finding:
    free = shutil.disk_usage(str(ROOT)).free // 2**20
    if free < NEEDED_MEGABYTES:
        return Finding(f"{free} MB of disk are free, {NEEDED_MEGABYTES} are needed", fix=f"free space where {ROOT} is")
    return Finding(f"{free} MB of disk are free")


def _network(environ: Mapping[str, str]) -> Finding:
    index = index_url(environ)
    shown = without_credentials(index)
    parts = urlsplit(index)
    if parts.scheme == "file" or any(environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")):
        return Finding(f"packages come from {shown}")
    try:
        port = parts.port or (80 if parts.scheme == "http" else 443)
        socket.create_connection((parts.hostname or "", port), NETWORK_TIMEOUT_SECONDS).close()
    except OSError as error:
        return Finding(
            f"{shown} cannot be reached: {error}", fix="connect, or export PIP_INDEX_URL=<an index you reach>"
        )
    return Finding(f"packages come from {shown}, which answers")


def _port() -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", EMULATOR_PORT))
        except OSError:
            ours = (LOCAL / "state.json").is_file()
            return Finding(
                f"port {EMULATOR_PORT} is in use, "
                + ("perhaps by the local stack of this checkout" if ours else "so the local stack takes a free one")
            )
    return Finding(f"port {EMULATOR_PORT} is free")
