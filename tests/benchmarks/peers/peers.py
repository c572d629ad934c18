"""The peers: what each is, how it is started, and the same work given to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localstack.processes import Running
from localstack.toolchain.uv import ensure_uv
from localstack.toolchain.uv_settings import uv_environment
from tests.benchmarks.end_to_end.cpu import cpu_seconds
from tests.benchmarks.end_to_end.figures import Start
from tests.benchmarks.end_to_end.work import Work
from tests.benchmarks.rig.npm import NodeMissing, installed, node
from tests.benchmarks.rig.servers import ServerMissing, postgres, redis, throwaway_folder

HERE = Path(__file__).parent
DRIVERS = HERE / "drivers"
PATIENCE_SECONDS = 30.0
#: After a kill, longer than the best settings take.
PATIENCE_AFTER_KILL_SECONDS = 70.0
#: Beyond what the work takes by itself: the environment, the servers, the submission.
OVERHEAD_SECONDS = 180.0
END_SECONDS = 20.0

Server = Callable[[Path], AbstractContextManager[tuple[str, Running]]]


class PeerMissing(Exception):
    """The peer is not on this machine, and could not be installed; the text says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    title: str
    server: Server
    #: A file in `drivers`, or in `bullmq`.
    driver: str
    #: The dependency group of its environment; None: Node's.
    group: str | None
    #: Jobs a second that submitting makes at least, on a busy machine too.
    rate: float
    style: str = "tuned"

    def command(self) -> tuple[list[str], Path, dict[str, str]]:
        """What starts its driver, where, and in which environment. Raises PeerMissing."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
        if self.group is None:
            try:
                return [node(), self.driver], installed(HERE / "bullmq", environ), environ
            except NodeMissing as missing:
                raise PeerMissing(str(missing)) from missing
        environ = {**uv_environment(environ), "PYTHONUNBUFFERED": "1"}
        del environ["UV_PROJECT_ENVIRONMENT"]
        uv = str(ensure_uv(environ))
        ways = [uv, "run", "--quiet", "--frozen", "--isolated", "--only-group", self.group, "python", self.driver]
        return [*ways], DRIVERS, environ


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the driver said (`first_ms`, `submit_per_second`, `cpu_seconds`, `killed_ms`), and all starts."""

    answer: dict[str, Any]
    starts: list[Start]
    server_cpu_seconds: float


CELERY = Peer("celery", "Celery, eta, Redis", redis, "celery_eta.py", "peer-celery", rate=400)
REDBEAT = Peer("redbeat", "Celery, redbeat, Redis", redis, "celery_redbeat.py", "peer-celery", rate=400)
APSCHEDULER = Peer(
    "apscheduler", "APScheduler, PostgreSQL", postgres, "apscheduler_postgres.py", "peer-apscheduler", rate=120
)
PGQUEUER = Peer("pgqueuer", "PgQueuer, PostgreSQL", postgres, "pgqueuer_queue.py", "peer-pgqueuer", rate=400)
BULL = Peer("bullmq", "BullMQ, Redis", redis, "driver.mjs", None, rate=600)


def run(peer: Peer, work: Work, *, kill_after_seconds: float | None = None) -> Outcome:
    """Raises PeerMissing, or ServerMissing."""
    command, folder, environ = peer.command()
    with throwaway_folder() as scratch, peer.server(_subfolder(scratch)) as (url, server):
        starts = scratch / "starts"
        order = {
            "jobs": [[f"job-{number}", offset] for number, offset in enumerate(work.offsets_ms)],
            "seconds": work.seconds,
            "repeats": work.repeats,
            "url": url.replace("postgresql:", "postgresql+psycopg:") if peer is APSCHEDULER else url,
            "starts": str(starts),
            "style": peer.style,
            "rate": peer.rate,
            "kill_after_seconds": kill_after_seconds,
            "patience_seconds": PATIENCE_SECONDS if kill_after_seconds is None else PATIENCE_AFTER_KILL_SECONDS,
        }
        timeout_seconds = OVERHEAD_SECONDS + work.jobs / peer.rate + work.seconds
        answer = _drive(command, folder, environ, order, timeout_seconds=timeout_seconds)
        return Outcome(answer, read_starts(starts), cpu_seconds([server.pid]))


def _subfolder(scratch: Path) -> Path:
    # PostgreSQL runs as another user, who must find the way.
    scratch.chmod(0o755)
    folder = scratch / "server"
    folder.mkdir()
    return folder


def _drive(
    command: list[str], folder: Path, environ: dict[str, str], order: dict[str, Any], *, timeout_seconds: float
) -> dict[str, Any]:
    driver = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = driver.communicate(json.dumps(order), timeout=timeout_seconds)
    except BaseException:
        # Asked first, for it has workers to end, in groups of their own.
        os.killpg(driver.pid, signal.SIGINT)
        try:
            driver.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(driver.pid, signal.SIGKILL)
        raise
    if driver.returncode:
        raise PeerMissing(f"its driver ended with {driver.returncode}: {complained.strip()[-600:]}")
    answer: dict[str, Any] = json.loads(said.splitlines()[-1])
    return answer


def read_starts(path: Path) -> list[Start]:
    if not path.exists():
        return []
    fields = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return [Start(job, int(due), float(started)) for job, due, started in fields]


__all__ = [
    "APSCHEDULER",
    "BULL",
    "CELERY",
    "PGQUEUER",
    "REDBEAT",
    "Outcome",
    "Peer",
    "PeerMissing",
    "ServerMissing",
    "run",
]
