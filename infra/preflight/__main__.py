"""`python -P -m infra.preflight --environment prod`: would this account take the deployment?

Reads quotas, zones, service-linked roles and the CDK's bootstrap version with the credentials that AWS_PROFILE and
AWS_REGION name, and changes nothing. One line for each answer, with what to do; then the idle bill of the chosen
settings, where `make synth` has written templates. Exit code: 0, 1 when there is a problem, 2 without credentials.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.cost.bill import read_prices, written
from infra.cost.idle import idle_items
from infra.environments import UnknownEnvironment, environment_named
from infra.preflight.judging import Judgement, Level, judge
from infra.preflight.looking import look
from infra.settings import SettingsRefused

_TEMPLATES = Path(__file__).parents[1] / "cdk.out"
#: What the templates need of the bootstrap stack, where none were written.
_LEAST_BOOTSTRAP = 6
_NEEDED = "requiresBootstrapStackVersion"


def main(arguments: Sequence[str]) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        environment = environment_named(chosen.environment, chosen.settings)
        session: Any = boto3.session.Session()
        region = _region(session)
        account = session.client("sts").get_caller_identity()["Account"]
    except (UnknownEnvironment, SettingsRefused, NoRegion, BotoCoreError, ClientError) as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    sys.stdout.write(f"account {account}, {region}, environment {environment.name}\n")
    answers = look(session.client, region)
    judgements = judge(answers, environment, least_bootstrap=least_bootstrap(_manifests(chosen.templates)))
    sys.stdout.write(text_of(judgements) + _bill(chosen.templates))
    return 1 if any(each.level is Level.PROBLEM for each in judgements) else 0


class NoRegion(Exception):
    def __init__(self) -> None:
        super().__init__("no Region is chosen: set AWS_REGION")


def _region(session: Any) -> str:
    if session.region_name is None:
        raise NoRegion
    return str(session.region_name)


def text_of(judgements: Sequence[Judgement]) -> str:
    problems = sum(each.level is Level.PROBLEM for each in judgements)
    last = f"{problems} problem(s)" if problems else "nothing is in the way that could be seen"
    return "\n".join([*(each.line() for each in judgements), last]) + "\n"


def least_bootstrap(manifests: Iterable[Mapping[str, Any]]) -> int:
    """The highest version that a stack of these manifests needs."""
    artifacts = [each for manifest in manifests for each in manifest.get("artifacts", {}).values()]
    needed = [each.get("properties", {}).get(_NEEDED, _LEAST_BOOTSTRAP) for each in artifacts]
    return max(needed, default=_LEAST_BOOTSTRAP)


def _manifests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("manifest.json")]


def _bill(folder: Path) -> str:
    templates = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.template.json"))]
    if not templates:
        return f"no templates in {folder}: make synth prints the price of these settings\n"
    prices = read_prices()
    title = f"idle cost a month of the templates in {folder}, in US dollars ({prices.region}, {prices.as_of}):"
    return f"{title}\n{written(idle_items(templates), prices)}\n"


def _parser() -> ArgumentParser:
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = ArgumentParser(
        "infra.preflight", description=about, epilog=more, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", default="dev", help="as in -c environment=")
    parser.add_argument("--settings", help="as in -c settings=")
    parser.add_argument("--templates", type=Path, default=_TEMPLATES, help="where the CDK wrote them")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
