"""`python -P -m infra.prove --environment prod`: does AWS do what Carillon takes for granted, and does it run?

Takes credentials of the account (AWS_PROFILE and AWS_REGION), which may make tables and queues named carillon-proof-*,
and a key with every scope in CARILLON_KEY. `--smoke` tries one deployment in two minutes and needs the key alone,
with the address in CARILLON_URL or --url. The report is printed, and written to .local/proof as Markdown and as JSON.
Exit code: 0 when nothing failed, 1 when something did, 2 when it was not begun.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import httpx
from botocore.exceptions import BotoCoreError, ClientError

from carillon import __version__
from carillon.client import Client
from infra.cost.bill import read_prices
from infra.prove.bound import announcement
from infra.prove.drift import HERD, prove_drift
from infra.prove.findings import Finding, Report, Verdict
from infra.prove.queues import prove_queue
from infra.prove.scratch import scratch
from infra.prove.smoke import prove_smoke
from infra.prove.tables import prove_tables
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.schema import DEFAULT_LANE

_OUT = Path(".local") / "proof"
_ENDPOINT = "AWS_ENDPOINT_URL"
_NOT_TRIED = "this proof does not try it; watch the dashboard while you do it by hand"
#: What rests on AWS and is tried by no part.
_LEFT = (
    ("lambda", "pause of the poller, cold start, partial answers of a batch"),
    ("fleet", "a task that is stopped, and a rolling deployment, with their drift"),
    ("roles", "what each role must not do is denied"),
)


class NotBegun(Exception):
    """Nothing was made; the text says what to do."""


def main(arguments: Sequence[str]) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        client = _client(chosen)
        sys.stdout.write(announcement(read_prices(), is_smoke=chosen.smoke, **_load(chosen)) + "\n")
        _confirm(chosen)
        report = prove(chosen, client)
    except NotBegun as reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    sys.stdout.write(report.as_markdown())
    chosen.out.mkdir(parents=True, exist_ok=True)
    stem = f"{chosen.environment}-{report.at.replace(':', '')}"
    for suffix, text in ((".md", report.as_markdown()), (".json", report.as_json())):
        (chosen.out / f"{stem}{suffix}").write_text(text, encoding="utf-8")
    sys.stdout.write(f"\nwritten to {chosen.out / stem}.md and .json\n")
    return 1 if report.has_failed else 0


def prove(chosen: Namespace, client: Client | None) -> Report:
    now = datetime.now(UTC)
    name = now.strftime("%Y%m%dt%H%M%S")
    findings: list[Finding] = []
    if not chosen.smoke:
        findings += _of_aws(name)
    if client is not None:
        with client:
            findings += prove_smoke(client, name, webhook=chosen.webhook)
            if not chosen.smoke and chosen.minutes:
                is_emulator = _ENDPOINT in os.environ
                findings += prove_drift(client, name, chosen.lane, is_emulator=is_emulator, **_load(chosen))
    at = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    return Report(at, chosen.environment, __version__, _against(chosen), tuple(findings))


def _load(chosen: Namespace) -> dict[str, int]:
    seconds = round(chosen.minutes * 60)
    # A short look is a small one.
    return {"seconds": seconds, "herd": min(HERD, seconds)}


def _of_aws(name: str) -> Iterator[Finding]:
    try:
        with scratch(dynamodb_client(), sqs_client(longest_wait_seconds=20), name) as made:
            yield from prove_tables(made)
            yield from prove_queue(made)
    except (BotoCoreError, ClientError) as failure:
        yield Finding("scratch", "its tables and queue, made and deleted", Verdict.FAILED, str(failure))
    is_emulator = _ENDPOINT in os.environ
    for part, what in _LEFT:
        why = "an emulator is no judge of it" if is_emulator else _NOT_TRIED
        yield Finding(part, what, Verdict.NOT_SHOWN, why)


def _client(chosen: Namespace) -> Client:
    key = os.environ.get("CARILLON_KEY")
    if not key:
        raise NotBegun("set CARILLON_KEY to a key with every scope: python -P -m functions.api.first_key --help")
    url = chosen.url or os.environ.get("CARILLON_URL") or _url_of(f"{chosen.name}-{chosen.environment}-service")
    # Straight to an emulator on this machine, whatever proxy the environment names.
    return Client(url, key, transport=httpx.HTTPTransport() if _ENDPOINT in os.environ else None)


def _url_of(stack: str) -> str:
    try:
        answer: dict[str, Any] = dict(boto3.client("cloudformation").describe_stacks(StackName=stack))
        outputs = answer["Stacks"][0].get("Outputs", [])
        return str(next(each["OutputValue"] for each in outputs if each["OutputKey"] == "ApiUrl"))
    except (BotoCoreError, ClientError, StopIteration) as failure:
        raise NotBegun(f"where is the API? set CARILLON_URL or --url, for stack {stack} does not say: {failure}") from (
            failure
        )


def _confirm(chosen: Namespace) -> None:
    if chosen.yes:
        return
    if not sys.stdin.isatty() or input("Go on? [y/N] ").strip().lower() != "y":
        raise NotBegun("not begun; --yes goes on without asking")


def _against(chosen: Namespace) -> str:
    if _ENDPOINT in os.environ:
        return f"the emulator at {os.environ[_ENDPOINT]}"
    if chosen.smoke:
        return "a deployment"
    session = boto3.session.Session()
    return f"account {boto3.client('sts').get_caller_identity()['Account']}, {session.region_name}"


def _parser() -> ArgumentParser:
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = ArgumentParser("infra.prove", description=about, epilog=more, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--environment", required=True, help="as in -c environment=")
    parser.add_argument("--name", default="Carillon", help="as in -c name=")
    parser.add_argument("--url", help="address of the API, where the stack's output does not say it")
    parser.add_argument("--webhook", help="a public URL that answers a POST with 2xx")
    parser.add_argument(
        "--minutes", type=float, default=10, help="of drift at a run a second, and a herd; 0: none (10)"
    )
    parser.add_argument("--lane", default=DEFAULT_LANE, help="whose drift: each lane has one host")
    parser.add_argument("--smoke", action="store_true", help="the deployment alone, in two minutes")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--out", type=Path, default=_OUT, help="folder of the reports")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
