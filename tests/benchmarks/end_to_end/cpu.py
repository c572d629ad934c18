"""CPU seconds of running processes and all that they started, as Linux counts them in /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Iterable[int]) -> float:
    """Of these processes and their descendants, those that ended and were waited for included; 0 without /proc."""
    table = _process_table()
    total = 0
    waiting = [pid for pid in pids if pid in table]
    while waiting:
        pid = waiting.pop()
        total += table[pid][1]
        waiting += [child for child, (parent, _) in table.items() if parent == pid]
    return total / _TICKS_PER_SECOND


def _process_table() -> Mapping[int, tuple[int, int]]:
    """Parent and ticks of each process."""
    table = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        table[int(stat.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return table
