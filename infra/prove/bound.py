"""What a proof can cost at most. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infra.cost.bill import Item, PriceList
from infra.cost.profile import Profile
from infra.cost.profile import items_of as work_of

#: Counted on the emulator, rounded up, and doubled: AWS's refusals cost a unit too, and an index that is late is read
#: again. A run through the deployment costs far less than one of these.
_WRITES, _READS, _MESSAGES = 2_000, 2_000, 200
#: How often a run of a herd is asked for.
_LOOKS = 20
_SMOKE_RUNS, _UNITS_OF_A_RUN = 3, 20


def items_of(*, is_smoke: bool, seconds: int = 0, herd: int = 0) -> Sequence[Item]:
    runs = _SMOKE_RUNS * _UNITS_OF_A_RUN
    smoke = [Item("jobs through the deployment", runs, "dynamodb_write"), Item("requests", runs, "api_request")]
    if is_smoke:
        return smoke
    return [
        *smoke,
        Item("writes to scratch tables", _WRITES, "dynamodb_write"),
        Item("reads of scratch tables", _READS, "dynamodb_read"),
        Item("messages", _MESSAGES, "sqs_request"),
        # Each is read and erased afterwards.
        *work_of(Profile(recurring_runs=seconds, one_time_jobs=herd, api_reads=seconds + _LOOKS * herd)),
    ]


def announcement(prices: PriceList, *, is_smoke: bool, seconds: int = 0, herd: int = 0) -> str:
    usd = max(prices.total(items_of(is_smoke=is_smoke, seconds=seconds, herd=herd)), 0.01)
    jobs = 3 if is_smoke else 4 + herd
    made = f"{jobs} jobs" if is_smoke else f"five scratch tables, a queue and {jobs} jobs"
    return (
        f"This makes {made}, and removes them; an ended job is listed for a day. It costs at most ${usd:.2f} "
        f"({prices.region}, list prices of {prices.as_of})."
    )
