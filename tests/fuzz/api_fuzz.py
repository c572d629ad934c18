"""Fuzz the API with schemathesis: every operation of its OpenAPI document, all checks, and chains of requests by links.

    python -P -m tests.fuzz.api_fuzz [--cases 1000] [--chain-seconds 60] [--seed 1] [--memory]

Against the running local stack (one is started if none is), or, with --memory, against the same handlers over tables in
memory: a minute instead of ten. Ends with 1 when something was found, or when fewer requests were made than asked for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import urllib3

from carillon.client import Client
from localstack.keys import issue_key
from localstack.stack import borrowed
from localstack.workspace import Workspace
from tests.fuzz.memory_api import served
from tests.unit.api.world import World

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
#: The owner whose things are made and broken.
OWNER = "fuzz"
#: It ends what the others work on, so it is left out.
FINAL = "eraseOwner"
#: It leads to the key that is called with, which is then revoked: tried by itself.
KEY_LIST = "listKeys"
#: DELETE cancels: the cancelled job is shown for a day, so that a repeated DELETE finds its answer.
NOT_MEANT = "use_after_free"
#: In chains the document is narrower than the API (`agreeable`), so what it does not admit may well be right: a link
#: hands on the schedule of an answer.
NOT_MEANT_IN_CHAINS = f"{NOT_MEANT},negative_data_rejection"
#: Members of a job whose values hardly ever are wrong.
PLAIN = frozenset({"job_id", "name", "group", "tags", "state", "schedule", "target", "payload"})


#: Makes a key of the owner: one that was called with may have been revoked.
Mint = Callable[[], str]


@contextmanager
def stack() -> Iterator[tuple[str, Mint]]:
    """The local stack's API; firing is on again afterwards, whatever was tried."""
    with borrowed(Workspace(ROOT / ".local" / "acceptance")) as running:

        def mint() -> str:
            return issue_key(running.endpoint, running.outputs["AccessTable"], owner_id=OWNER)

        try:
            yield running.api_url, mint
        finally:
            with Client(running.api_url, mint(), transport=httpx.HTTPTransport()) as client:
                client.set_firing(on=True)


@contextmanager
def memory() -> Iterator[tuple[str, Mint]]:
    world = World()
    with served(world) as url:
        yield url, lambda: world.mint(OWNER)


def document_of(url: str) -> dict[str, Any]:
    """The API's own document, without what would lead a fuzzer into the things of other owners, where it finds nothing
    of what it made; and with items of a batch as loose as the API takes them: each is judged by itself.
    """
    answer = urllib3.request("GET", f"{url}/v1/openapi.json")
    document: dict[str, Any] = json.loads(answer.data)
    for operations in document["paths"].values():
        for operation in operations.values():
            others = [each for each in operation.get("parameters", []) if not _leads_elsewhere(each)]
            operation["parameters"] = others
    batch = document["components"]["schemas"]["CreateBatch"]
    batch["properties"]["items"]["items"] = {"type": "object"}
    return document


def _leads_elsewhere(parameter: dict[str, Any]) -> bool:
    return bool(parameter["name"] == "owner_id" and parameter["in"] == "query")


def agreeable(document: dict[str, Any]) -> dict[str, Any]:
    """The document with requests that mostly work: what is never made leads nowhere."""
    document = deepcopy(document)
    schemas = document["components"]["schemas"]
    schedules = {"enum": [{"cron": "0 3 * * *"}, {"every": "PT1H"}, {"in": "PT1H"}]}
    targets = {"enum": [{"type": "handler", "name": "echo"}]}
    for name in ("CreateJob", "JobPatch"):
        members = schemas[name]["properties"]
        schemas[name]["properties"] = {each: members[each] for each in members if each in PLAIN}
        schemas[name]["properties"] |= {"schedule": schedules, "target": targets}
    instants = {"enum": [f"2026-11-{day}T00:00:00.000Z" for day in (10, 20)]}
    schemas["Backfill"]["properties"] |= {"from": instants, "to": {"enum": ["2026-11-21T00:00:00.000Z"]}}
    schemas["CreateKey"]["properties"].pop("expires_at")
    return document


def run(url: str, key: str, document: dict[str, Any], *options: str, not_meant: str = NOT_MEANT) -> dict[str, Any]:
    """The report of schemathesis, which is empty when there is none."""
    with TemporaryDirectory() as folder:
        schema, report = Path(folder) / "openapi.json", Path(folder) / "report.json"
        schema.write_text(json.dumps(document))
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIGURATION)),
            *("run", str(schema), "--url", url, "--header", f"Authorization: Bearer {key}"),
            *(
                "--checks",
                "all",
                "--exclude-checks",
                not_meant,
                "--request-timeout",
                "30",
                "--suppress-health-check",
                "all",
                "--warnings",
                "off",
            ),
            *("--exclude-operation-id", FINAL, "--continue-on-failure"),
            *("--report", "json", "--report-json-path", str(report)),
            *options,
        ]
        subprocess.run(command, check=False, cwd=folder)
        found: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
    return found


def fuzz(url: str, mint: Mint, *, cases: int, seed: int, chain_seconds: int) -> int:
    document = document_of(url)
    each = max(2, -(-cases // sum(len(operations) for operations in document["paths"].values())))
    alone = ["--phases", "examples,coverage,fuzzing", "--mode", "all", "--max-examples", str(each)]
    chained = ["--phases", "stateful", "--mode", "positive", "--max-time", str(chain_seconds)]
    others = ["--exclude-operation-id", KEY_LIST]
    reports = [
        run(url, mint(), document, *alone, *others, "--seed", str(seed)),
        run(url, mint(), document, *alone, "--include-operation-id", KEY_LIST, "--seed", str(seed)),
        run(url, mint(), agreeable(document), *chained, *others, "--seed", str(seed), not_meant=NOT_MEANT_IN_CHAINS),
    ]
    made = sum(report.get("test_cases", {}).get("generated", 0) for report in reports)
    sys.stdout.write(f"{made} cases\n")
    if made < cases:
        sys.stderr.write(f"{cases} were asked for\n")
        return 1
    return int(any(report.get("exit_code", 1) for report in reports))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chain-seconds", type=int, default=60, help="how long chains of requests are tried")
    parser.add_argument("--memory", action="store_true", help="over memory, not over the local stack")
    options = parser.parse_args()
    with memory() if options.memory else stack() as (url, mint):
        return fuzz(url, mint, cases=options.cases, seed=options.seed, chain_seconds=options.chain_seconds)


if __name__ == "__main__":
    sys.exit(main())
