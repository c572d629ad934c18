"""What the runbook tells an operator to type, typed; and what it tells to look for, looked for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.api.resolving import routes_of
from shared.domain.run import RunStatus
from tests.unit.api.world import World
from tests.unit.cli.terminal import Terminal
from tests.unit.client.api import end_run

ROOT = Path(__file__).parents[3]
RUNBOOK = (ROOT / "infra" / "RUNBOOK.md").read_text()
OPERATIONS = RUNBOOK.split("\n# Operations\n")[1]


def sections() -> Iterator[tuple[str, list[str]]]:
    """Each heading with the commands below it, in their order."""
    parts = re.split(r"^## (.+)$", OPERATIONS, flags=re.MULTILINE)[1:]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        # As blocks, or in a sentence.
        found = re.findall(r"^ {4}carillon (.+)$|`carillon ([^`]+)`", body, flags=re.MULTILINE)
        yield heading, [block or inline for block, inline in found]


COMMANDS = {heading: commands for heading, commands in sections() if commands}


def names_in(carillon: Terminal) -> dict[str, str]:
    """What stands for the words in capitals: a failed run, keys and an owner, all there."""
    carillon("jobs", "create", "nightly", "--cron", "30 2 * * *", "--handler", "echo")
    run_id: str = carillon.json("jobs", "run", "nightly")["run_id"]
    end_run(carillon.world, "nightly", run_id, RunStatus.FAILED)
    key_id = carillon.json("keys", "create", "--scope", "read")["key_id"]
    signing: Any = carillon.json("signing-keys", "create")
    return {"JOB": "nightly", "RUN": run_id, "KEY": key_id, "SIGNING": signing["key_id"], "OWNER": "acme"}


@pytest.mark.parametrize("heading", COMMANDS)
def test_every_command_of_the_runbook_does_what_it_is_there_for(carillon: Terminal, heading: str) -> None:
    names = names_in(carillon)
    for command in COMMANDS[heading]:
        words = [names.get(word, word) for word in shlex.split(command)]
        if words == ["keys", "create"]:
            words += ["--scope", "read"]
        if words[:2] == ["runs", "retry"]:
            end_run(carillon.world, "nightly", names["RUN"], RunStatus.FAILED)

        assert carillon(*words).code == 0, f"carillon {command}: {carillon.err}"


def test_what_operators_need_is_a_command() -> None:
    assert {"State of the fleet", "The brake", "Runs that failed", "Rotating keys", "Erasing an owner"} <= set(COMMANDS)


def test_every_route_that_is_named_is_there() -> None:
    known = {(route.method, re.sub(r"<(\w+)>", r"{\1}", route.path)) for route in routes_of(World().backend())}
    named = set(re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) (/v1/[\w/{}:.-]*[\w}])", RUNBOOK))

    assert len(named) > 8
    assert named <= known


def test_every_action_that_is_to_be_looked_for_is_logged() -> None:
    sources = "\n".join(path.read_text() for top in ("functions", "shared") for path in (ROOT / top).rglob("*.py"))
    actions = re.findall(r'action = "([\w.]+)"', RUNBOOK)

    assert actions
    for action in actions:
        kind, _, step = action.partition(".")
        assert f'"{action}"' in sources or (f'f"{kind}.' in sources and f"{step}_once" in sources), action


def test_a_query_over_the_logs_names_what_lines_have() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "functions" / "scheduler").rglob("*.py"))

    assert '"shard.' in sources
    assert all(f'"{name}"' in sources or f"{name}=" in sources for name in ("node_id", "shard", "epoch"))
