"""`python -P -m infra.cost <folder of templates>`: what the deployment costs while nothing fires, and its work."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infra.cost.bill import read_prices, written
from infra.cost.idle import idle_items
from infra.cost.measured import read_measured
from infra.cost.profile import Profile, items_of

MILLION = 1_000_000


def main(folder: Path) -> None:
    prices = read_prices()
    templates = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.template.json"))]
    lines = [
        f"idle cost a month, in US dollars ({prices.region}, list prices of {prices.as_of}, free tiers not used):",
        written(idle_items(templates), prices),
        "and for each million:",
        f"  {prices.total(items_of(Profile(recurring_runs=MILLION))):8.2f}  recurring runs",
        f"  {prices.total(items_of(Profile(rare_runs=MILLION))):8.2f}  runs of jobs with more than 6 h between them",
        f"  {prices.total(items_of(Profile(one_time_jobs=MILLION))):8.2f}  one-time jobs, created by HTTPS",
        f"as measured on {read_measured().measured_on}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
