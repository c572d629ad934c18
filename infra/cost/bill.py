from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KB_IN_A_GB = 1_000_000
PRICES = Path(__file__).parents[1] / "prices.json"


@dataclass(frozen=True, slots=True)
class Item:
    """A quantity of a month, in the unit that `price` is a key of."""

    what: str
    quantity: float
    price: str


@dataclass(frozen=True, slots=True)
class PriceList:
    as_of: str
    region: str
    prices: Mapping[str, float]

    def of(self, item: Item) -> float:
        """US dollars. Raises KeyError for what has no price."""
        return item.quantity * self.prices[item.price]

    def total(self, items: Iterable[Item]) -> float:
        return sum(map(self.of, items))


def read_prices(path: Path = PRICES) -> PriceList:
    document = json.loads(path.read_text(encoding="utf-8"))
    return PriceList(
        as_of=document["as_of"],
        region=document["region"],
        prices={name: price["usd"] for name, price in document["prices"].items()},
    )


def written(items: Sequence[Item], prices: PriceList) -> str:
    """One line for each item that costs a cent, dearest first, and the sum."""
    by_what: dict[str, float] = {}
    for item in items:
        by_what[item.what] = by_what.get(item.what, 0.0) + prices.of(item)
    ranked = sorted(by_what.items(), key=lambda each: -each[1])
    lines = [f"  {usd:8.2f}  {what}" for what, usd in ranked if usd >= 0.005]  # noqa: PLR2004 - half a cent
    return "\n".join([*lines, f"  {sum(by_what.values()):8.2f}  together"])
