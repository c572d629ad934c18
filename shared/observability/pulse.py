"""Signs of life of a process's loops, as files: whether a task is healthy is asked by a command, in its own process.

Each loop touches a file of its own at every turn. The ages of the files are told by the file system alone: the command
touches one as well, and compares.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Pulse:
    """Without a folder there are no signs."""

    folder: Path | None = None

    def begin(self) -> None:
        """Forget the process that lived here before. Raises OSError when the folder cannot be written to."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()

    def beat(self, loop: str) -> None:
        """The loop makes another turn."""
        if self.folder is None:
            return
        path = self.folder / loop
        try:
            os.utime(path)
        except FileNotFoundError:
            path.touch()

    def silent(self, longest_seconds: Mapping[str, float]) -> list[str]:
        """The loops that have not made a turn for longer than they may, or none yet; sorted.

        Raises FileNotFoundError when there is no such folder: the process has not begun.
        """
        if self.folder is None:
            raise FileNotFoundError("no folder for signs of life is set")
        asked = self.folder / _ASKED
        asked.touch()
        now = asked.stat().st_mtime
        return sorted(loop for loop, longest in longest_seconds.items() if self._age(loop, now) > longest)

    def _age(self, loop: str, now: float) -> float:
        assert self.folder is not None
        try:
            return now - (self.folder / loop).stat().st_mtime
        except FileNotFoundError:
            return float("inf")


def ask(folder: Path | None, longest_seconds: Mapping[str, float]) -> tuple[int, str]:
    """The exit status of a health check and a sentence for its log."""
    try:
        silent: Iterable[str] = Pulse(folder).silent(longest_seconds)
    except FileNotFoundError as error:
        return 1, f"not begun: {error}"
    stuck = ", ".join(silent)
    return (1, f"stuck: {stuck}") if stuck else (0, "healthy")
