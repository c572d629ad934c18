"""What a proof can cost at most. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from infra.cost.bill import Item, PriceList

#: Counted on the emulator, rounded up, and doubled: AWS's refusals cost a unit too, and an index that is late is read
#: again. A run through the deployment costs far less than one of these.
_WRITES, _READS, _MESSAGES = 2_000, 2_000, 200
_SMOKE_RUNS, _UNITS_OF_A_RUN = 3, 20


def items_of(*, is_smoke: bool) -> Sequence[Item]:
    runs = _SMOKE_RUNS * _UNITS_OF_A_RUN
    smoke = [Item("jobs through the deployment", runs, "dynamodb_write"), Item("requests", runs, "api_request")]
    if is_smoke:
        return smoke
    return [
        *smoke,
        Item("writes to scratch tables", _WRITES, "dynamodb_write"),
        Item("reads of scratch tables", _READS, "dynamodb_read"),
        Item("messages", _MESSAGES, "sqs_request"),
    ]


def announcement(prices: PriceList, *, is_smoke: bool) -> str:
    usd = max(prices.total(items_of(is_smoke=is_smoke)), 0.01)
    made = "three jobs" if is_smoke else "five scratch tables, a queue and three jobs"
    return (
        f"This makes {made}, and removes them; an ended job is listed for a day. It costs at most ${usd:.2f} "
        f"({prices.region}, list prices of {prices.as_of})."
    )
