"""What a peer's driver is told, and how it answers. Runs in the peer's own environment, without Carillon.

A driver starts its peer, submits the jobs ahead, one by one over one connection, waits for their bodies to have run,
ends what it started and prints one line of JSON. The body of every job appends a line to the file of starts.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: From the end of the submission to the first slot.
AHEAD_SECONDS = 4.0
LOOK_SECONDS = 0.2
#: What the body of a job, in whichever process, needs to know.
STARTS_VARIABLE = "BENCH_STARTS"
URL_VARIABLE = "BENCH_URL"
STYLE_VARIABLE = "BENCH_STYLE"


@dataclass(frozen=True)
class Order:
    #: Job ids and when each is due, in ms from the first instant.
    jobs: list[tuple[str, int]]
    seconds: int
    #: Each job is due again every second, `seconds` times.
    repeats: bool
    url: str
    starts: str
    #: `default`, or `tuned`: the best that the peer's documentation offers.
    style: str
    #: Jobs a second that submitting makes at least.
    rate: float
    #: Kill a worker (or scheduler) that many seconds after the first instant.
    kill_after_seconds: float | None
    #: Give up that long after the last slot.
    patience_seconds: float

    @property
    def expected(self) -> int:
        return len(self.jobs) * (self.seconds if self.repeats else 1)

    def first_ms(self) -> int:
        """The first instant, far enough ahead to submit everything before."""
        return -(-int((time.time() + len(self.jobs) / self.rate + AHEAD_SECONDS) * 1000) // 1000) * 1000


def read_order() -> Order:
    # The parent asks with it to end, and whoever started that may have had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    order = Order(**json.load(sys.stdin))
    os.environ.update({STARTS_VARIABLE: order.starts, URL_VARIABLE: order.url, STYLE_VARIABLE: order.style})
    return order


def record(job: str, due_ms: int | None) -> None:
    """The body of every job. None: due at the last whole second, for schedulers that do not tell."""
    started = time.time() * 1000
    due = int(started // 1000 * 1000) if due_ms is None else due_ms
    with Path(os.environ[STARTS_VARIABLE]).open("ab", buffering=0) as file:
        file.write(f"{job} {due} {started:.3f}\n".encode())


def wait_for_starts(order: Order, first_ms: int) -> None:
    until = first_ms / 1000 + order.seconds + order.patience_seconds
    while time.time() < until and started(order) < order.expected:
        time.sleep(LOOK_SECONDS)
    if order.repeats:
        # Once more than asked would be a fault too.
        time.sleep(1)


def started(order: Order) -> int:
    try:
        with Path(order.starts).open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return 0


def start_process(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """It leads a group of its own, so that it ends with all that it started."""
    folder = Path(__file__).resolve().parent
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> int:
    """Without a word, as a host that fails; answers when, in ms."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return int(time.time() * 1000)


def kill_in_time(order: Order, first_ms: int, process: subprocess.Popen[bytes]) -> int | None:
    if order.kill_after_seconds is None:
        return None
    time.sleep(max(0.0, first_ms / 1000 + order.kill_after_seconds - time.time()))
    return kill(process)


def end(processes: Sequence[subprocess.Popen[bytes]], grace_seconds: float = 10.0) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            kill(process)


def own_cpu_seconds(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def answer(order: Order, first_ms: int, submit_seconds: float, **more: Any) -> None:
    """CPU seconds are those of the ended processes, unless they are given: the peer's, and not the submitter's."""
    found = {
        "first_ms": first_ms,
        "submit_per_second": len(order.jobs) / submit_seconds,
        "cpu_seconds": own_cpu_seconds(resource.RUSAGE_CHILDREN),
        **more,
    }
    sys.stdout.write(json.dumps(found) + "\n")
