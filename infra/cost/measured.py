"""What runs take of DynamoDB and SQS, as it was measured: `measured.json`. `tests/acceptance/test_requests.py` measures
anew and compares.

`python -P -m infra.cost.measured .local/figures/requests.json` takes over a new measurement, dated today.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("measured.json")
_FIGURES = ("writes", "reads", "sqs_requests")
#: Between two measurements of the same code; hundredths of a unit are of a price that nobody notices.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Taken:
    """By one run, in full batches: capacity units of DynamoDB, and requests of SQS."""

    writes: float
    reads: float
    sqs_requests: float


@dataclass(frozen=True, slots=True)
class Measured:
    measured_on: str
    by_kind: Mapping[str, Taken]


@cache
def read_measured(path: Path = FILE) -> Measured:
    document = json.loads(path.read_text(encoding="utf-8"))
    return Measured(document["measured_on"], _kinds_of(document))


def differences(measured: Measured, figures: Mapping[str, Any]) -> list[str]:
    """Where a fresh measurement, in the form of `requests.json`, is another than this one."""
    fresh = _kinds_of(figures)
    kinds = sorted({*measured.by_kind, *fresh})
    return [
        f"{kind}: {measured.by_kind.get(kind)} was measured on {measured.measured_on}, and now {fresh.get(kind)}"
        for kind in kinds
        if not _is_near(measured.by_kind.get(kind), fresh.get(kind))
    ]


def _kinds_of(document: Mapping[str, Any]) -> dict[str, Taken]:
    return {kind: Taken(*(found[name] for name in _FIGURES)) for kind, found in document["per_run"].items()}


def _is_near(one: Taken | None, other: Taken | None) -> bool:
    if one is None or other is None:
        return False
    return all(abs(getattr(one, name) - getattr(other, name)) <= TOLERANCE for name in _FIGURES)


def take_over(figures: Path, target: Path = FILE) -> None:
    per_run = json.loads(figures.read_text(encoding="utf-8"))["per_run"]
    document = {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "by": "tests/acceptance/test_requests.py: real adapters over the emulator, ten runs a kind at one instant",
        "per_run": {kind: {name: found[name] for name in _FIGURES} for kind, found in per_run.items()},
    }
    target.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    take_over(Path(sys.argv[1]))
