"""The API from a terminal: `carillon --help`.

CARILLON_URL and CARILLON_KEY, or --url and --key, say where and as whom; a key in the arguments is seen by everybody
who lists processes, so prefer the variable. Answers go to the standard output, as a table or, with --json, as JSON;
what went wrong goes to the standard error.

    0  done
    1  the API said no; its fields and fixes are printed
    2  the command was not understood
    3  no answer came
    4  a run that was awaited did not succeed, or did not end in time; some of many jobs were refused; or not all was
       erased, for runs are alive
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from typing import Final

from carillon import __version__
from carillon.cli import access, fleet, jobs, runs
from carillon.cli.commands import Commands, common_options
from carillon.cli.output import Failure, show, told
from carillon.client import CarillonError, Client, NoAnswer, NotEnded

SAID_NO: Final = 1
NOT_UNDERSTOOD: Final = 2
NO_ANSWER: Final = 3
NOT_SUCCEEDED: Final = 4
_INTERRUPTED: Final = 130

Connect = Callable[[Namespace], Client]


def main(
    arguments: Sequence[str] | None = None, *, environ: Mapping[str, str] = os.environ, connect: Connect | None = None
) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What the terminal cannot say is shown as escapes: the request was carried out, and a key is shown once.
            stream.reconfigure(errors="backslashreplace")
    parser = parser_of(environ)
    chosen = parser.parse_args(arguments)
    try:
        if not chosen.url:
            parser.error("say where the API is: set CARILLON_URL, or use --url")
        with (connect or _connect)(chosen) as client:
            return _run(chosen, client)
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED


def parser_of(environ: Mapping[str, str]) -> ArgumentParser:
    parser = ArgumentParser(
        "carillon",
        description="Jobs, runs and the fleet of a Carillon.",
        epilog=(__doc__ or "").partition("\n\n")[2],
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"carillon {__version__}")
    common_options(parser)
    parser.set_defaults(
        url=environ.get("CARILLON_URL"), key=environ.get("CARILLON_KEY") or None, owner=None, json=False, timeout=35.0
    )
    commands = Commands(parser.add_subparsers(title="commands", metavar="COMMAND", required=True))
    for group in (jobs, runs, access, fleet):
        group.register(commands)
    return parser


def _connect(chosen: Namespace) -> Client:
    return Client(chosen.url, chosen.key, owner=chosen.owner, timeout=chosen.timeout)


def _run(chosen: Namespace, client: Client) -> int:
    try:
        show(chosen.run(client, chosen), as_json=chosen.json)
    except Failure as failure:
        show(failure.shown, as_json=chosen.json)
        return NOT_SUCCEEDED
    except CarillonError as error:
        print(told(error), file=sys.stderr)  # noqa: T201 - talks to the terminal
        if isinstance(error, NoAnswer):
            return NO_ANSWER
        return NOT_SUCCEEDED if isinstance(error, NotEnded) else SAID_NO
    except BrokenPipeError:
        # Whoever read has read enough; else Python would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
