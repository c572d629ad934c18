"""How commands are declared, and the options that several of them take."""

from __future__ import annotations

import json
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from carillon.cli.output import Shown
from carillon.client import Client
from carillon.client.schedules import Schedule

Run = Callable[[Client, Namespace], Shown]

_GROUPS: Final = {
    "jobs": "create, show, change and run jobs",
    "runs": "show, cancel and repeat runs",
    "keys": "create, rotate and revoke API keys",
    "signing-keys": "keys that sign webhooks",
    "grants": "what an owner's targets may call",
    "owners": "erase an owner (admin)",
}


def common_options(parser: ArgumentParser) -> None:
    """Taken before and after the command; without defaults, so that the later place does not undo the earlier one."""
    options = parser.add_argument_group("where and how")
    options.add_argument("--url", default=SUPPRESS, help="address of the API (CARILLON_URL)")
    options.add_argument("--key", default=SUPPRESS, help="API key (CARILLON_KEY)")
    options.add_argument("--owner", default=SUPPRESS, help="whose things to act on; needs scope admin")
    options.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")
    about = "for an attempt of a request, not for a run (35)"
    options.add_argument("--timeout", type=float, default=SUPPRESS, metavar="SECONDS", help=about)


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of two words have a group: `jobs list`."""

    subparsers: Any
    _groups: dict[str, Any] = field(default_factory=dict)

    def add(self, words: str, run: Run, about: str) -> ArgumentParser:
        group, _, name = words.rpartition(" ")
        parent = self._group(group) if group else self.subparsers
        parser: ArgumentParser = parent.add_parser(name, help=about, description=about[:1].upper() + about[1:] + ".")
        common_options(parser)
        parser.set_defaults(run=run)
        return parser

    def _group(self, name: str) -> Any:
        if name not in self._groups:
            parser = self.subparsers.add_parser(name, help=_GROUPS[name])
            self._groups[name] = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        return self._groups[name]


def json_value(text: str) -> Any:
    """For `type=`: a JSON text, of a file after an @, or of the standard input for @-."""
    try:
        if text == "@-":
            return json.load(sys.stdin)
        return json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"no JSON: {error}") from error


def json_object(text: str) -> dict[str, Any]:
    value = json_value(text)
    if not isinstance(value, dict):
        raise ArgumentTypeError('a JSON object is needed: {"...": ...}')
    return value


def tag(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise ArgumentTypeError(f"a tag is written name:value, not {text!r}")
    return name, value


def schedule_options(parser: ArgumentParser, *, is_required: bool) -> None:
    kinds = parser.add_argument_group("schedule").add_mutually_exclusive_group(required=is_required)
    kinds.add_argument("--at", metavar="INSTANT", help="once: RFC 3339, or local time with --timezone")
    kinds.add_argument("--in", dest="in_", metavar="DURATION", help="once, from now: PT40S")
    kinds.add_argument("--every", metavar="DURATION", help="a fixed interval: PT15M")
    kinds.add_argument("--cron", metavar="EXPRESSION", help='five fields: "30 2 * * MON-FRI"')
    kinds.add_argument("--schedule", type=json_object, metavar="JSON", help="all that a schedule can say, or @FILE")
    parser.add_argument("--timezone", metavar="ZONE", help="of --cron, or of a local --at: Europe/Berlin")


def schedule_of(chosen: Namespace) -> Schedule | None:
    """None when no option speaks of it. Raises ValueError."""
    kinds = {"at": chosen.at, "in": chosen.in_, "every": chosen.every, "cron": chosen.cron}
    found: Any = {name: value for name, value in kinds.items() if value is not None}
    if chosen.schedule is not None:
        found = chosen.schedule
    elif not found and chosen.timezone:
        raise ValueError("--timezone belongs to --cron, --at or --schedule: name one of them")
    elif not found:
        return None
    schedule: Schedule = {**found, **({"timezone": chosen.timezone} if chosen.timezone else {})}
    return schedule


def limit_option(parser: ArgumentParser, *, default: int = 50) -> None:
    parser.add_argument("--limit", type=int, default=default, metavar="N", help=f"at most N lines ({default})")
