"""When a stack that was started is of use: the API answers, and the nodes own every shard."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from localstack import endpoints, processes
from shared.adapters.dynamodb.fleet_rows import CONTROL_KEY, NODE, SHARD, read_control, read_lease

if TYPE_CHECKING:
    from collections.abc import Mapping

    from localstack.processes import Running
    from shared.adapters.dynamodb.attributes import Row

ANSWER_SECONDS = 30.0
FLEET_SECONDS = 30.0


class NotReady(Exception):
    """A part of the stack runs, or ran, and does not do its work."""


def wait_for_api(url: str) -> None:
    """Waits for the first good answer; the function starts for it, so the next one is quick.

    Raises:
        NotReady: there was none in time.
    """
    problem = ""

    def answers() -> bool:
        nonlocal problem
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - loopback
                return bool(answer.status == 200)  # noqa: PLR2004 - HTTP's own number
        except urllib.error.HTTPError as refused:
            with refused:
                problem = f"{refused}: {refused.read()[:500].decode(errors='replace')}"
        except OSError as error:
            problem = str(error)
        return False

    if not processes.wait_until(answers, timeout_seconds=ANSWER_SECONDS, pause_seconds=0.5):
        raise NotReady(f"the API does not answer at {url}: {problem}")


def wait_for_fleet(endpoint: str, table: str, *, nodes: int, tasks: Mapping[str, Running]) -> None:
    """Waits until so many nodes beat and every shard has an owner.

    Raises:
        NotReady: they do not in time, or one of the tasks ended meanwhile.
    """
    processes.wait_until(
        lambda: bool(_ended(tasks)) or _is_owned(endpoint, table, nodes=nodes),
        timeout_seconds=FLEET_SECONDS,
        pause_seconds=0.2,
    )
    if _ended(tasks):
        raise NotReady(", ".join(_ended(tasks)) + " ended soon after the start")
    if not _is_owned(endpoint, table, nodes=nodes):
        raise NotReady(f"{nodes} nodes do not own all shards after {FLEET_SECONDS:.0f} s")


def _ended(tasks: Mapping[str, Running]) -> list[str]:
    return sorted(name for name, task in tasks.items() if not task.is_alive())


def _is_owned(endpoint: str, table: str, *, nodes: int) -> bool:
    dynamodb = endpoints.dynamodb(endpoint)

    def rows(kind: str) -> list[Row]:
        answer = dynamodb.query(
            TableName=table,
            ConsistentRead=True,
            KeyConditionExpression="kind = :kind",
            ExpressionAttributeValues={":kind": {"S": kind}},
        )
        return list(answer["Items"])

    control = read_control(dynamodb.get_item(TableName=table, Key=CONTROL_KEY, ConsistentRead=True).get("Item"))
    owned = [lease for lease in map(read_lease, rows(SHARD)) if lease.owner]
    return len(rows(NODE)) >= nodes and bool(control.shard_count) and len(owned) == control.shard_count
