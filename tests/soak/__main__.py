"""`python -P -m tests.soak --minutes 20 --seed 1`, or with `--url` and CARILLON_KEY against a deployment."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from localstack.stack import borrowed
from localstack.terminal import say
from localstack.workspace import Workspace
from tests.soak.soak import soak_deployment, soak_stack, told

FOLDER = Path(__file__).parents[2] / ".local" / "soak"
MINUTE = 60.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak", description="A long run of everything at once, judged by a ledger.")
    parser.add_argument("--minutes", type=float, default=20, help="of load; it settles after that (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of what is asked and disturbed (%(default)s)")
    parser.add_argument("--url", help="of a deployment to run against, undisturbed; its key is in CARILLON_KEY")
    asked = parser.parse_args(arguments)
    seconds = asked.minutes * MINUTE
    if asked.url:
        key = os.environ.get("CARILLON_KEY")
        if not key:
            parser.error("set CARILLON_KEY to a key with the scopes read and write")
        verdict = soak_deployment(asked.url, key, seconds=seconds, seed=asked.seed)
    else:
        with borrowed(Workspace(FOLDER), say=say) as stack:
            verdict = soak_stack(stack, seconds=seconds, seed=asked.seed, say=say)
    for line in told(verdict):
        say(line)
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
