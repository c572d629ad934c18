"""API keys, the keys that sign webhooks, and grants."""

from __future__ import annotations

from typing import Literal, TypedDict

Scope = Literal["read", "write", "admin"]


class Key(TypedDict):
    key_id: str
    name: str
    scopes: list[Scope]
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None


class NewKey(Key):
    """`key` is shown this once."""

    key: str


class SigningKey(TypedDict):
    key_id: str
    created_at: str
    created_by: str


class NewSigningKey(SigningKey):
    """`secret` is shown this once."""

    secret: str


class Grant(TypedDict):
    grant_id: str
    owner_id: str
    target_type: str
    resource: str
    role_arn: str | None
    members: list[str]
    hosts: list[str]
    created_at: str
    created_by: str
