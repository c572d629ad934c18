"""`python -m functions.scheduler`: one scheduler node, until SIGTERM or SIGINT."""

from __future__ import annotations

import os

from functions.scheduler.wiring import build_runner, stop_on_signal


def main() -> None:
    runner = build_runner(os.environ)
    stop_on_signal(runner.stop)
    runner.run()


if __name__ == "__main__":
    main()
