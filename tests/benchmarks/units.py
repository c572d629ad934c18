"""What jobs and runs take of DynamoDB and SQS, what that costs, and what others ask for the same.

    python -P -m tests.benchmarks.units

Units are counted, not timed: `infra/cost/measured.json`, which `tests/acceptance/test_requests.py` measures anew. The
idle bill is read off the templates of the default environment.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.cost.bill import PriceList, read_prices
from infra.cost.idle import idle_items
from infra.cost.measured import read_measured
from infra.cost.profile import Profile, items_of
from localstack import cdk
from localstack.toolchain.paths import INFRA, LOCAL
from tests.benchmarks.outcome import Bench, Cell, Table

ALTERNATIVES = Path(__file__).with_name("alternatives.json")
MILLION = 1_000_000


def idle_usd(prices: PriceList) -> float:
    """A month of the default environment in which nothing fires. Raises CalledProcessError: the synth said why."""
    with TemporaryDirectory() as out:
        command = cdk.command("synth", "--quiet", "--output", out)
        subprocess.run(command, cwd=INFRA, env=cdk.environ(home=LOCAL / "cdk"), check=True)
        templates = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(out).glob("*.template.json"))]
    return prices.total(idle_items(templates))


def units_table() -> Table:
    rows: list[list[Cell]] = [
        [kind.replace("_", " "), taken.writes, taken.reads, taken.sqs_requests]
        for kind, taken in read_measured().by_kind.items()
    ]
    note = f"Counted on {read_measured().measured_on}, ten runs of a kind at one instant, create to finish."
    return Table("What a run takes", ("run", "write units", "read units", "SQS requests"), rows, note)


def prices_table(prices: PriceList) -> Table:
    def ours(name: str, in_a_batch: int) -> list[Cell]:
        asked = (Profile(one_time_jobs=MILLION), Profile(recurring_runs=MILLION))
        return [name, *(prices.total(items_of(replace(each, runs_of_an_invocation=in_a_batch))) for each in asked)]

    alternatives = json.loads(ALTERNATIVES.read_text(encoding="utf-8"))
    rows: list[list[Cell]] = [
        ours("Carillon, fires that come alone", 1),
        ours("Carillon, fires that fill their batches", 10),
        *([each["name"], each["one_time"], each["recurring"]] for each in alternatives["services"]),
    ]
    note = (
        f"List prices of {alternatives['as_of']}, {alternatives['region']}, free tiers not used, Carillon's idle bill "
        "aside; runs of 50 ms on Lambda. Sources are in `tests/benchmarks/alternatives.json`."
    )
    return Table("US dollars for each million", ("service", "one-time jobs", "recurring runs"), rows, note)


def main() -> None:
    bench = Bench("units")
    prices, by_kind = read_prices(), read_measured().by_kind
    recurring, one_time = by_kind["recurring_within_6_h"], by_kind["one_time"]
    bench.report(
        runs=10,
        figures={
            "recurring_run_writes": recurring.writes,
            "recurring_run_reads": recurring.reads,
            "recurring_run_sqs_requests": recurring.sqs_requests,
            "one_time_job_writes": one_time.writes,
            "idle_usd_a_month": idle_usd(prices),
        },
        tables=[units_table(), prices_table(prices)],
    )


if __name__ == "__main__":
    main()
