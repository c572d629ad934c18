"""`python -P -m functions.scheduler.health`: whether the node of this task lives; ECS asks, and replaces a stuck one.

A node whose beat goes on while another loop hangs keeps its shards and fires nothing, so every loop must turn. The
limits are what the slowest answers of table and queue can add up to, and some.
"""

from __future__ import annotations

import os
import sys

from shared.config import pulse_folder
from shared.observability.pulse import ask

BEAT, HOT, HOUSEKEEPING = "beat", "hot", "housekeeping"
LONGEST_SECONDS = {BEAT: 30.0, HOT: 60.0, HOUSEKEEPING: 120.0}


def main() -> int:
    status, said = ask(pulse_folder(os.environ), LONGEST_SECONDS)
    sys.stdout.write(said + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
