"""Fuzz the API with schemathesis: every operation of its OpenAPI document, all checks, and chains of requests by links.

    python -P -m tests.fuzz.api_fuzz [--cases 1000] [--seed 1] [--memory]

Against the running local stack (one is started if none is), or, with --memory, against the same handlers over tables in
memory: a minute instead of ten. Ends with 1 when something was found, or when fewer requests were made than asked for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import urllib3

from localstack.client import Client
from localstack.keys import issue_key
from localstack.stack import borrowed
from localstack.workspace import Workspace
from tests.fuzz.memory_api import served
from tests.unit.api.world import World

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
#: The owner whose things are made and broken.
OWNER = "fuzz"
#: It ends what the others work on: tried by its examples alone.
FINAL = ("eraseOwner",)


@contextmanager
def stack() -> Iterator[tuple[str, str]]:
    """URL and key of the local stack; firing is on again afterwards, whatever was tried."""
    with borrowed(Workspace(ROOT / ".local" / "acceptance")) as running:
        key = issue_key(running.endpoint, running.outputs["AccessTable"], owner_id=OWNER)
        try:
            yield running.api_url, key
        finally:
            Client(running.api_url, key).call("PUT", "/v1/fleet/firing", {"on": True})


@contextmanager
def memory() -> Iterator[tuple[str, str]]:
    world = World()
    with served(world) as url:
        yield url, world.mint(OWNER)


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
    return parameter["name"] == "owner_id" and parameter["in"] == "query"


def fuzz(url: str, key: str, *, cases: int, seed: int) -> int:
    document = document_of(url)
    operations = sum(len(each) for each in document["paths"].values())
    with TemporaryDirectory() as folder:
        schema, report = Path(folder) / "openapi.json", Path(folder) / "report.json"
        schema.write_text(json.dumps(document))
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIGURATION)),
            *("run", str(schema), "--url", url, "--header", f"Authorization: Bearer {key}"),
            *("--phases", "examples,coverage,fuzzing,stateful", "--mode", "all", "--checks", "all"),
            *("--max-examples", str(max(2, -(-cases // operations))), "--seed", str(seed)),
            *("--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off"),
            *("--exclude-operation-id", FINAL[0], "--continue-on-failure"),
            *("--report", "json", "--report-json-path", str(report)),
        ]
        code = subprocess.run(command, check=False, cwd=folder).returncode
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", action="store_true", help="over memory, not over the local stack")
    options = parser.parse_args()
    with memory() if options.memory else stack() as (url, key):
        return fuzz(url, key, cases=options.cases, seed=options.seed)


if __name__ == "__main__":
    sys.exit(main())
