from __future__ import annotations

from argparse import Namespace
from typing import Any, Final

from carillon.cli.commands import Commands
from carillon.cli.output import Shown
from carillon.client import Client

_KEYS: Final = ("key_id", "name", "scopes", "created_at", "created_by", "expires_at", "revoked_at")
_SIGNING_KEYS: Final = ("key_id", "created_at", "created_by")
_GRANTS: Final = ("grant_id", "owner_id", "target_type", "resource", "role_arn", "members", "hosts", "created_by")
_ONCE: Final = "keep it now: it is not shown again"


def register(commands: Commands) -> None:
    create = commands.add("keys create", create_key, "create an API key")
    create.add_argument("--scope", action="append", choices=["read", "write", "admin"], required=True)
    create.add_argument("--name", default="")
    create.add_argument("--expires-at", metavar="INSTANT")
    commands.add("keys list", lambda client, _: Shown(list(client.list_keys()), _KEYS), "list API keys")
    rotate = commands.add("keys rotate", rotate_key, "create a key like another one, which stays valid until revoked")
    rotate.add_argument("key_id", nargs="?", help="the key of this call, when left out")
    rotate.add_argument("--expires-at", metavar="INSTANT", help="of the new one; like the old one, never by default")
    revoke = commands.add("keys revoke", lambda client, it: Shown(client.revoke_key(it.key_id)), "revoke an API key")
    revoke.add_argument("key_id")
    commands.add("signing-keys create", create_signing_key, "create a key that signs webhooks")
    commands.add(
        "signing-keys list",
        lambda client, _: Shown(list(client.list_signing_keys()), _SIGNING_KEYS),
        "list the keys that sign webhooks",
    )
    delete = commands.add("signing-keys delete", delete_signing_key, "delete a key that signs webhooks")
    delete.add_argument("key_id")
    grant = commands.add("grants create", create_grant, "let an owner's targets call something (admin)")
    grant.add_argument("target_type", choices=["http", "lambda", "aws", "secret"])
    grant.add_argument("resource", help="an ARN, one that ends in *, or a host")
    grant.add_argument("--role-arn", metavar="ARN", help="a role to assume for it")
    grant.add_argument(
        "--member",
        action="append",
        default=[],
        metavar="PATH[=VALUE]",
        help="what a job may set of ecs.RunTask, such as overrides.containerOverrides[].command",
    )
    grant.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="where a secret may be carried: a host, *.example.com, or any",
    )
    commands.add("grants list", lambda client, _: Shown(list(client.list_grants()), _GRANTS), "list grants")
    take = commands.add("grants delete", delete_grant, "take a grant back (admin)")
    take.add_argument("grant_id")


def create_key(client: Client, chosen: Namespace) -> Shown:
    made = client.create_key(scopes=chosen.scope, name=chosen.name, expires_at=chosen.expires_at)
    return Shown(made, note=_ONCE)


def rotate_key(client: Client, chosen: Namespace) -> Shown:
    old_id = chosen.key_id or _id_in(chosen.key)
    old = next((key for key in client.list_keys() if key["key_id"] == old_id), None)
    if old is None or old["revoked_at"] is not None:
        raise ValueError(f"there is no key {old_id!r} to make another one of: see carillon keys list")
    made = client.create_key(scopes=old["scopes"], name=old["name"], expires_at=chosen.expires_at or old["expires_at"])
    return Shown(made, note=f"{_ONCE}; when nothing uses the old one any more: carillon keys revoke {old_id}")


def create_signing_key(client: Client, _: Namespace) -> Shown:
    return Shown(client.create_signing_key(), note=_ONCE)


def delete_signing_key(client: Client, chosen: Namespace) -> Shown:
    client.delete_signing_key(chosen.key_id)
    return _deleted("key_id", chosen.key_id)


def create_grant(client: Client, chosen: Namespace) -> Shown:
    grant: Any = client.create_grant(
        target_type=chosen.target_type,
        resource=chosen.resource,
        role_arn=chosen.role_arn,
        members=chosen.member,
        hosts=chosen.host,
    )
    return Shown(grant)


def delete_grant(client: Client, chosen: Namespace) -> Shown:
    client.delete_grant(chosen.grant_id)
    return _deleted("grant_id", chosen.grant_id)


def _deleted(name: str, value: str) -> Shown:
    return Shown({name: value, "outcome": "deleted"})


def _id_in(key: str | None) -> str:
    parts = (key or "").split("_")
    if parts[0] != "crl" or len(parts) < 3:  # noqa: PLR2004 - crl, id, secret
        raise ValueError("say which key: the one of this call is no API key")
    return parts[1]
