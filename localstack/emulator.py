"""MiniStack: the emulator of AWS that the local stack is deployed into, on this machine's loopback alone."""

from __future__ import annotations

import os
import socket
import sys
import urllib.error
import urllib.request
from importlib.util import find_spec
from typing import TYPE_CHECKING

from localstack import processes
from localstack.environment import ACCOUNT, REGION, require_loopback, scrubbed

if TYPE_CHECKING:
    from localstack.certificate import Certificate
    from localstack.processes import Running
    from localstack.workspace import Workspace

HOST = "127.0.0.1"
USUAL_PORT = 4566
#: One that the system gives.
ANY_PORT = 0
HEALTH_PATHS = ("/_ministack/health", "/_localstack/health")
READY_SECONDS = 30.0
# Longer is of no use: it may hang for as long as a custom resource waits, and it keeps nothing anyway.
GRACE_SECONDS = 10.0
NAME = "emulator"
GUARDED = "localstack.guarded_emulator"


class EmulatorFailed(Exception):
    """The emulator did not come up; the log says why."""


def endpoint_of(port: int, *, has_tls: bool = False) -> str:
    return f"{'https' if has_tls else 'http'}://{HOST}:{port}"


def launch(workspace: Workspace, port: int, *, certificate: Certificate | None = None) -> Running:
    """Starts it; `wait_until_ready` says when it answers.

    With a certificate it speaks TLS, as buckets and queues demand of whoever is not root, and lets nobody do what its
    policies do not allow. The certificate must be trusted already (`certificate.trusting`).
    """
    return processes.start(
        NAME,
        _command(port, has_tls=certificate is not None),
        environ=_environment(workspace, port, certificate),
        folder=workspace.subfolder("emulator"),
        log=workspace.log(NAME),
    )


def wait_until_ready(process: Running, workspace: Workspace, port: int, *, has_tls: bool = False) -> None:
    """Waits for the first answer.

    Raises:
        EmulatorFailed: it ended, or did not answer in time.
    """
    endpoint = endpoint_of(port, has_tls=has_tls)
    processes.wait_until(
        lambda: not process.is_alive() or is_healthy(endpoint),
        timeout_seconds=READY_SECONDS,
    )
    # Both are asked: whoever answers there may be somebody else, when ours could not have the port.
    if not (process.is_alive() and is_healthy(endpoint)):
        raise EmulatorFailed(f"the emulator did not come up on {endpoint}:\n{workspace.tail(NAME)}")


def is_healthy(endpoint: str) -> bool:
    return any(_answers(endpoint + path) for path in HEALTH_PATHS)


def free_port(usual: int = USUAL_PORT) -> int:
    """The usual port, or one that the system gives when somebody has it."""
    for candidate in (usual, ANY_PORT):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
            except OSError:
                continue
            port: int = probe.getsockname()[1]
            return port
    raise EmulatorFailed("this machine has no free port")


def adopted_endpoint() -> str | None:
    """The server that the caller asked to use instead of one of our own: CARILLON_ADOPT=1, or its address.

    Raises:
        UnsafeTarget: it is not on this machine.
    """
    asked = os.environ.get("CARILLON_ADOPT", "")
    if asked in ("", "0"):
        return None
    endpoint = endpoint_of(USUAL_PORT) if asked == "1" else asked.rstrip("/")
    require_loopback(endpoint)
    return endpoint


def _command(port: int, *, has_tls: bool) -> list[str]:
    """The entry it ships. CARILLON_EMULATOR=uvicorn answers about twice as fast, where those packages are there."""
    packages = ("uvicorn", "uvloop", "httptools")
    is_asked = os.environ.get("CARILLON_EMULATOR") == "uvicorn" and not has_tls
    if is_asked and all(find_spec(package) for package in packages):
        server = ["uvicorn", f"{GUARDED}:app", "--host", HOST, "--port", str(port)]
        return [sys.executable, "-P", "-m", *server, "--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    return [sys.executable, "-P", "-m", GUARDED]


def _environment(workspace: Workspace, port: int, certificate: Certificate | None) -> dict[str, str]:
    """Also what every Lambda function inside sees. The defaults would listen on every address of the machine."""
    enforcing = {}
    if certificate is not None:
        files = {"MINISTACK_SSL_CERT": str(certificate.path), "MINISTACK_SSL_KEY": str(certificate.key)}
        enforcing = {"AUTH": "true", "USE_SSL": "1", **files}
    return {
        **scrubbed(os.environ, endpoint=endpoint_of(port, has_tls=certificate is not None)),
        **enforcing,
        "GATEWAY_PORT": str(port),
        "BIND_HOST": HOST,
        "MINISTACK_REGION": REGION,
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(workspace.subfolder("tmp")),
    }


def _answers(url: str) -> bool:
    # A proxy of the caller's has no say about loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=1) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004 - HTTP's own number
    except (urllib.error.URLError, OSError):
        return False
