"""The folder in which one local stack keeps its state, logs and temporary files: `.local`, or another for a test."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from localstack.toolchain.paths import LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Workspace:
    folder: Path = LOCAL

    @property
    def state(self) -> Path:
        """What runs: written by `up` and `down` alone."""
        return self.folder / "state.json"

    @property
    def tasks(self) -> Path:
        """The tasks that run: written by the supervisor alone."""
        return self.folder / "tasks.json"

    @property
    def route(self) -> Path:
        """Where the tasks find AWS, if that is not the emulator itself: written by whoever makes faults."""
        return self.folder / "route.json"

    def clock_error(self, service: str) -> Path:
        """By how many milliseconds the clocks of a service's tasks are to be wrong, if a test wants that."""
        return self.folder / f"clock-error-{service}"

    @property
    def steps(self) -> Path:
        """The steps of a deploy that was begun: written by `deploy` alone."""
        return self.folder / "steps.json"

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs.json"

    @property
    def assembly(self) -> Path:
        """What `cdk synth` made for the environment `local`."""
        return self.folder / "cdk.out"

    def log(self, name: str) -> Path:
        return self.subfolder("logs") / f"{name}.log"

    def tail(self, name: str, lines: int = 20) -> str:
        text = self.log(name).read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def subfolder(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        # What lies below it is run: another user of the machine must not be able to add to it.
        self.folder.chmod(0o700)
        return path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One `up` or `down` at a time."""
        with (self.subfolder(".") / "stack.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def use(self) -> IO[str]:
        """Says that the stack is in use, until the file is closed or this process ends."""
        users = (self.subfolder(".") / "users.lock").open("w")
        fcntl.flock(users, fcntl.LOCK_SH)
        return users

    def is_used(self) -> bool:
        with (self.subfolder(".") / "users.lock").open("w") as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def read_json(path: Path) -> dict[str, Any]:
    """The object in the file; an empty one when there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    value: dict[str, Any] = json.loads(text)
    return value


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Whoever reads meanwhile sees the old object or the new one, never half of one."""
    half = path.with_suffix(".part")
    half.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    half.replace(path)
