"""Processes that outlive the one that started them, and that are never mistaken for another.

A pid alone names nothing: the system gives it to somebody else once it is free. Whoever is to be asked or ended is
therefore named by pid *and* start time, and each leads a group of its own, so that what it started ends with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

POLL_SECONDS = 0.02
FINISH_GRACE_SECONDS = 5.0
# Ended and waited for, but not collected by its parent yet.
ZOMBIE = "Z"

# Of the processes that this one started: they stay zombies until they are asked for here.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Running:
    name: str
    pid: int
    started: str

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        return cls(str(value["name"]), int(value["pid"]), str(value["started"]))

    def written(self) -> dict[str, Any]:
        return asdict(self)

    def is_alive(self) -> bool:
        child = _children.get(self.pid)
        if child is not None:
            child.poll()
        return start_of(self.pid) == self.started

    def exit_code(self) -> int | None:
        """How it ended, known to the process that started it; None while it runs, and to everybody else."""
        child = _children.get(self.pid)
        return None if child is None else child.poll()


def start(
    name: str, command: Sequence[str], *, environ: Mapping[str, str], folder: Path, log: Path, append: bool = False
) -> Running:
    """Starts a process that leads its own group and writes to its own log."""
    with log.open("ab" if append else "wb") as output:
        child = subprocess.Popen(
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    return Running(name, child.pid, start_of(child.pid) or "ended at once")


def finish(process: Running, *, timeout_seconds: float) -> int | None:
    """Waits for a process that this one started; its exit code, or None if it had to be ended.

    It is ended, too, when the wait is broken off, as by Ctrl-C.
    """
    try:
        ended = wait_until(lambda: process.exit_code() is not None, timeout_seconds=timeout_seconds)
        return process.exit_code() if ended else None
    finally:
        if process.exit_code() is None:
            stop([process], grace_seconds=FINISH_GRACE_SECONDS)


def stop(processes: Sequence[Running], *, grace_seconds: float) -> list[Running]:
    """Asks each to end, ends with force what is left after the grace, and returns those."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    wait_until(lambda: not any(_is_left(process) for process in processes), timeout_seconds=grace_seconds)
    stubborn = [process for process in processes if _is_left(process)]
    for process in stubborn:
        _kill_group(process)
    wait_until(lambda: not any(_is_left(process) for process in stubborn), timeout_seconds=grace_seconds)
    return stubborn


def wait_until(condition: Callable[[], bool], *, timeout_seconds: float, pause_seconds: float = POLL_SECONDS) -> bool:
    """Whether the condition came true in time."""
    until = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(pause_seconds)
    return True


def start_of(pid: int) -> str | None:
    """When the process of that pid started, as an opaque text; None when there is none or it has ended."""
    try:
        # The name in parentheses may hold anything, so the fields are counted from its end.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _start_by_ps(pid)
    return None if fields[0] == ZOMBIE else f"{boot} {fields[19]}"


def _start_by_ps(pid: int) -> str | None:
    """For systems without /proc, such as macOS."""
    asked = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, env={"LC_ALL": "C"}
    )
    state, _, started = asked.stdout.strip().partition(" ")
    return None if not state or state.startswith(ZOMBIE) else started.strip()


def _signal(process: Running, number: signal.Signals) -> None:
    """To the leader alone: it tells its own children, in its own order."""
    if process.is_alive():
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return


def _kill_group(process: Running) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _is_left(process: Running) -> bool:
    """Whether the process or anything of its group is left.

    While a group lives its number is given to no new process, so a group without its leader is still the one it led.
    """
    if process.is_alive():
        return True
    return start_of(process.pid) is None and _group_lives(process.pid)


def _group_lives(group: int) -> bool:
    if not Path("/proc/self/stat").exists():
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True
    # Asked of each process, as an ended one that nobody collects (a container without an init) keeps its group.
    return any(_is_member(stat, str(group)) for stat in Path("/proc").glob("[0-9]*/stat"))


def _is_member(stat: Path, group: str) -> bool:
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields[0] != ZOMBIE and fields[2] == group
