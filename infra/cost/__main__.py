"""`python -P -m infra.cost <folder of templates>`: what the deployment costs while nothing fires, and its work.

What a month of yours would cost on top, item by item, for any of the profile's numbers:

    python -P -m infra.cost infra/cdk.out --recurring-runs 3000000 --one-time-jobs 500000 --payload-kb 4
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

from infra.cost.bill import PriceList, read_prices, written
from infra.cost.idle import idle_items
from infra.cost.measured import read_measured
from infra.cost.profile import Profile, items_of

MILLION = 1_000_000
_EXAMPLES = {
    "recurring runs": Profile(recurring_runs=MILLION),
    "runs of jobs with more than 6 h between them": Profile(rare_runs=MILLION),
    "one-time jobs, created by HTTPS": Profile(one_time_jobs=MILLION),
}


def main(arguments: Sequence[str]) -> None:
    chosen = _parser().parse_args(arguments)
    prices = read_prices()
    templates = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(chosen.folder.glob("*.template.json"))]
    lines = [
        f"idle cost a month, in US dollars ({prices.region}, list prices of {prices.as_of}, free tiers not used):",
        written(idle_items(templates), prices),
        *_work(_profile_of(chosen), prices),
        f"as measured on {read_measured().measured_on}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _work(profile: Profile, prices: PriceList) -> Iterator[str]:
    if profile != Profile():
        yield "and for the month that was asked for:"
        yield written(items_of(profile), prices)
        return
    yield "and for each million, of fires that come alone and of those that fill their batches, on Lambda:"
    yield "      alone     full"
    for what, example in _EXAMPLES.items():
        alone, full = (prices.total(items_of(replace(example, runs_of_an_invocation=count))) for count in (1, 10))
        yield f"  {alone:9.2f}{full:9.2f}  {what}"


def _profile_of(chosen: Namespace) -> Profile:
    return Profile(**{each.name: getattr(chosen, each.name) for each in fields(Profile)})


def _parser() -> ArgumentParser:
    about, _, example = (__doc__ or "").partition("\n\n")
    parser = ArgumentParser(
        "infra.cost", description=about, epilog=example, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where `make synth` put the templates")
    for each in fields(Profile):
        option = f"--{each.name.replace('_', '-')}"
        if isinstance(each.default, bool):
            parser.add_argument(option, action=BooleanOptionalAction, default=each.default)
        else:
            parser.add_argument(option, type=type(each.default), default=each.default, metavar="N")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
