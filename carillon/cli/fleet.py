from __future__ import annotations

from argparse import Namespace
from typing import Any, Final

from carillon.cli.commands import Commands
from carillon.cli.output import Shown, erased
from carillon.client import Client

_SHARDS: Final = ("shard", "owner", "epoch", "watermark", "lag_ms")


def register(commands: Commands) -> None:
    commands.add("fleet", show_fleet, "show nodes, shards and the brake (admin)")
    firing = commands.add("firing", set_firing, "the brake: let nobody dispatch, or let all dispatch again (admin)")
    firing.add_argument("word", choices=["on", "off"])
    erase = commands.add("owners erase", erase_owner, "erase all that an owner wrote (admin)")
    erase.add_argument("owner_id")
    erase.add_argument("--yes", action="store_true", required=True, help="there is no way back")
    commands.add("health", lambda client, _: Shown(client.health()), "say whether the API answers")


def show_fleet(client: Client, chosen: Namespace) -> Shown:
    fleet = client.fleet()
    if chosen.json:
        return Shown(fleet)
    nodes = ", ".join(
        f"{node['node_id']} ({len(node['shards'])} shards, {node['version']}, {node['status']})"
        for node in fleet["nodes"]
    )
    return Shown(fleet["shards"], _SHARDS, f"firing: {'on' if fleet['firing'] else 'off'}; nodes: {nodes or 'none'}")


def set_firing(client: Client, chosen: Namespace) -> Shown:
    is_on = chosen.word == "on"
    client.set_firing(on=is_on)
    return Shown({"on": is_on})


def erase_owner(client: Client, chosen: Namespace) -> Shown:
    answer: Any = client.erase_owner(chosen.owner_id)
    return erased(answer, is_done=answer["is_done"])
