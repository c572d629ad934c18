"""`python -P -m functions.worker.health`: whether the worker of this task lives; ECS asks, and replaces a stuck one.

Handlers that do not return are the host's own affair: it ends itself when they have taken every thread.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from shared.config import pulse_folder, queue_urls
from shared.observability.pulse import ask

RECEIVE, WATCH, STORE, KEEP = "receive", "watch_time", "store_ends", "keep_alive"
#: What the slowest answers of table and queue can add up to, and some.
_LONGEST_SECONDS = {RECEIVE: 120.0, WATCH: 30.0, STORE: 120.0, KEEP: 120.0}


def loop_of(lane: str, step: str) -> str:
    return f"{lane}-{step}"


def longest_seconds(environment: Mapping[str, str]) -> dict[str, float]:
    """Of every loop of every lane that the environment names a queue for."""
    lanes = queue_urls(environment)
    return {loop_of(lane, step): longest for lane in lanes for step, longest in _LONGEST_SECONDS.items()}


def main() -> int:
    status, said = ask(pulse_folder(os.environ), longest_seconds(os.environ))
    sys.stdout.write(said + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
