"""API keys, keys that sign webhooks, and grants."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import Operation, Operations
from functions.api.openapi.shapes import (
    INSTANT,
    KEY_ID_SCHEMA,
    OWNER_ID_SCHEMA,
    TEXT,
    Schema,
    listing,
    nullable,
    one_of,
    record,
    ref,
)
from shared.domain.limits import MAX_GRANT_MEMBERS

_SCOPES: Final[Schema] = {"type": "array", "items": one_of("read", "write", "admin")}
_KEY_MEMBERS: Final[dict[str, Schema]] = {
    "key_id": KEY_ID_SCHEMA,
    "name": {**TEXT, "examples": ["deploy"]},
    "scopes": _SCOPES,
    "created_at": INSTANT,
    "created_by": TEXT,
    "expires_at": nullable(INSTANT),
    "revoked_at": nullable(INSTANT),
}
_SIGNING_KEY_MEMBERS: Final[dict[str, Schema]] = {"key_id": KEY_ID_SCHEMA, "created_at": INSTANT, "created_by": TEXT}
_DELETED: Final = one_of("deleted")

OPERATIONS: Final[Operations] = {
    ("GET", "/v1/keys"): Operation("listKeys", "access", "List the owner's API keys", "Keys"),
    ("POST", "/v1/keys"): Operation(
        "createKey",
        "access",
        "Create an API key",
        "NewKey",
        201,
        example={"name": "deploy", "scopes": ["read", "write"], "expires_at": "2027-11-27T00:00:00.000Z"},
        description=(
            "With no scope that the caller has not. The key is shown once: a repeat under the same Idempotency-Key "
            "makes none, and answers 409 with the id of the first."
        ),
        problems=(409, 422),
    ),
    ("DELETE", "/v1/keys/<key_id>"): Operation(
        "revokeKey", "access", "Revoke an API key", "Key", path={"key_id": "a1b2c3d4e5f6"}, problems=(404,)
    ),
    ("GET", "/v1/signing-keys"): Operation(
        "listSigningKeys", "access", "List the keys that sign the owner's webhooks", "SigningKeys"
    ),
    ("POST", "/v1/signing-keys"): Operation(
        "createSigningKey",
        "access",
        "Create a key that signs webhooks",
        "NewSigningKey",
        201,
        description=(
            "Two may live at once, and both sign, so that receivers change keys without losing a call. The secret is "
            "shown in this answer and never again: a repeat under the same Idempotency-Key is a 409 that names the key."
        ),
        problems=(409, 422),
    ),
    ("DELETE", "/v1/signing-keys/<key_id>"): Operation(
        "deleteSigningKey",
        "access",
        "Delete a key that signs webhooks",
        "DeletedSigningKey",
        path={"key_id": "a1b2c3d4e5f6"},
        problems=(404,),
    ),
    ("GET", "/v1/grants"): Operation("listGrants", "access", "List what the owner's targets may call", "Grants"),
    ("POST", "/v1/grants"): Operation(
        "createGrant",
        "access",
        "Let an owner's targets call something (admin)",
        "Grant",
        201,
        body="NewGrant",
        query={"owner_id": "acme"},
        example={"target_type": "lambda", "resource": "arn:aws:lambda:eu-central-1:123456789012:function:report"},
        problems=(409, 422),
    ),
    ("DELETE", "/v1/grants/<grant_id>"): Operation(
        "deleteGrant",
        "access",
        "Take a grant back (admin)",
        "DeletedGrant",
        path={"grant_id": "a1b2c3d4e5f6"},
        query={"owner_id": "acme"},
        problems=(404,),
    ),
}

_GRANT_MEMBERS: Final[Schema] = {
    "type": "array",
    "items": TEXT,
    "maxItems": MAX_GRANT_MEMBERS,
    "description": "Of `ecs.RunTask`: the members below `overrides`, `networkConfiguration` and the like that a job "
    "may set, each as a path, with `=value` where only that value is allowed.",
    "examples": [["networkConfiguration.awsvpcConfiguration.subnets[]=subnet-0123456789abcdef0"]],
}

_GRANT_HOSTS: Final[Schema] = {
    "type": "array",
    "items": TEXT,
    "maxItems": MAX_GRANT_MEMBERS,
    "description": "Of a secret: the hosts to which webhooks may carry it, `*.example.com` for all below one, or `any` "
    "for all that the owner's jobs may call.",
    "examples": [["hooks.example.com"]],
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Key": record(_KEY_MEMBERS),
    "Keys": listing(ref("Key")),
    "NewKey": record({**_KEY_MEMBERS, "key": {**TEXT, "description": "Shown once: send it as a bearer token."}}),
    "SigningKeys": listing(record(_SIGNING_KEY_MEMBERS)),
    "NewSigningKey": record({**_SIGNING_KEY_MEMBERS, "secret": {**TEXT, "description": "Shown once."}}),
    "DeletedSigningKey": record({"key_id": TEXT, "outcome": _DELETED}),
    "Grant": record(
        {
            "grant_id": KEY_ID_SCHEMA,
            "owner_id": OWNER_ID_SCHEMA,
            "target_type": TEXT,
            "resource": TEXT,
            "role_arn": nullable(TEXT),
            "members": _GRANT_MEMBERS,
            "hosts": _GRANT_HOSTS,
            "created_at": INSTANT,
            "created_by": TEXT,
        }
    ),
    "Grants": listing(ref("Grant")),
    "NewGrant": record(
        {
            "target_type": one_of("http", "lambda", "aws", "secret"),
            "resource": TEXT,
            "role_arn": nullable(TEXT),
            "members": _GRANT_MEMBERS,
            "hosts": _GRANT_HOSTS,
        },
        optional=("role_arn", "members", "hosts"),
        about="The ARN, the ARN that ends in `*`, or for http the host, that the owner's targets may call.",
    ),
    "DeletedGrant": record({"grant_id": TEXT, "outcome": _DELETED}),
}
