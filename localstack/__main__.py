"""`python -m localstack <command>`: the make targets call it through `localstack/bootstrap.py`."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import NoReturn

from localstack.environment import for_tools

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Imported when asked for, so that `down` and `check` start at once and need nothing that `up` needs.
COMMANDS = {
    "check": ("localstack.commands", "check"),
    "format": ("localstack.commands", "format_code"),
    "synth": ("localstack.commands", "synth"),
    "unit": ("localstack.commands", "unit"),
    "time-cases": ("localstack.commands", "time_cases"),
    "simulate": ("localstack.commands", "simulate"),
    "api-fuzz": ("localstack.commands", "api_fuzz"),
    "acceptance": ("localstack.commands", "acceptance"),
    "soak": ("localstack.commands", "soak"),
    "bench": ("localstack.commands", "bench"),
    "test": ("localstack.commands", "test"),
    "up": ("localstack.terminal", "up_command"),
    "down": ("localstack.terminal", "down_command"),
    "demo": ("localstack.demo", "main"),
}
#: What a command takes of its caller besides: of the deployment that it is told to work with.
OF_CALLER = {"soak": ("CARILLON_KEY",)}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS:
        print("python -m localstack " + " | ".join(COMMANDS), file=sys.stderr)
        return 2
    # From here on nobody can pick up a profile, an endpoint or a proxy of the caller's, this process included.
    of_caller = {name: os.environ[name] for name in OF_CALLER.get(arguments[0], ()) if name in os.environ}
    safe = for_tools(os.environ) | of_caller
    os.environ.clear()
    os.environ.update(safe)
    module, function = COMMANDS[arguments[0]]
    result: int = getattr(import_module(module), function)(arguments[1:])
    return result


def end_orderly(_number: int, _frame: object) -> NoReturn:
    """Whoever started something gets to stop it, and is not interrupted a second time meanwhile."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    print("stopping", file=sys.stderr, flush=True)
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in ENDINGS:
        signal.signal(number, end_orderly)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
