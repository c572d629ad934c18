"""How a webhook proves who calls: by a secret that lies in Secrets Manager, of which a job names only the ARN."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from shared.domain.errors import FieldProblem
from shared.domain.targets.headers import fault_of_name
from shared.domain.targets.reading import Members, shown
from shared.domain.templates import escaped

SCHEMES: Final = ("bearer", "basic", "header")

_SECRET_ARN = re.compile(r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,520}", re.ASCII)
_EXAMPLE_ARN: Final = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf"
_MAX_KEY_LENGTH = 256
#: What a secret may be to stand in a header.
_SENDABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", re.ASCII)


class UnusableSecret(ValueError):
    """The secret is not what the job says of it. Its text is never quoted."""


def read_auth(auth: object, problems: list[FieldProblem]) -> dict[str, Any] | None:
    """`secret_ref`, `scheme`, with scheme `header` a `header`, and perhaps the `key` of a secret that is JSON."""
    if auth is None:
        return None
    if not isinstance(auth, Mapping):
        problems.append(FieldProblem("#/auth", "auth is an object with a secret_ref", {"secret_ref": _EXAMPLE_ARN}))
        return None
    secret_ref, scheme, key = auth.get("secret_ref"), auth.get("scheme", "bearer"), auth.get("key")
    if not isinstance(secret_ref, str) or not _SECRET_ARN.fullmatch(secret_ref):
        detail = "secret_ref is the whole ARN of a secret in Secrets Manager"
        problems.append(FieldProblem("#/auth/secret_ref", detail, _EXAMPLE_ARN))
    if scheme not in SCHEMES:
        detail = f"{shown(scheme)} is no scheme; known: {', '.join(SCHEMES)}"
        problems.append(FieldProblem("#/auth/scheme", detail, "bearer"))
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= _MAX_KEY_LENGTH):
        problems.append(FieldProblem("#/auth/key", "key is the name of a member of the secret, as a text", "token"))
    found = {"secret_ref": secret_ref, "scheme": scheme} | ({} if key is None else {"key": key})
    if scheme == "header":
        found["header"] = auth.get("header")
        if fault := _fault_of_header(auth.get("header")):
            problems.append(FieldProblem("#/auth/header", fault, "X-Api-Key"))
    problems += [
        FieldProblem(f"#/auth/{escaped(name)}", f"unknown member of auth; known here: {', '.join(found)}, key")
        for name in auth
        if name not in {*found, "key"}
    ]
    return found


def header_of(auth: Members, secret: str) -> tuple[str, str]:
    """Name and value of the header that carries the secret. Raises UnusableSecret."""
    text = _member_of(secret, auth["key"]) if "key" in auth else secret.strip()
    if auth["scheme"] == "basic":
        return "Authorization", "Basic " + b64encode(_user_and_password(text).encode()).decode()
    if not _SENDABLE.fullmatch(text):
        raise UnusableSecret("the secret is empty or has characters that no header can carry")
    if auth["scheme"] == "header":
        return auth["header"], text
    return "Authorization", f"Bearer {text}"


def _fault_of_header(name: object) -> str | None:
    if not isinstance(name, str):
        return "with scheme header, header is the name of the header that carries the secret"
    # Of names that carry a secret, here one is sent; the others stay out.
    return None if name.lower() in {"authorization", "cookie"} else fault_of_name(name)


def _member_of(secret: str, key: str) -> str:
    value = _object_in(secret).get(key)
    if not isinstance(value, str):
        raise UnusableSecret(f"the secret has no text under {key!r}")
    return value


def _user_and_password(text: str) -> str:
    """`user:password`, or the JSON that Secrets Manager itself writes for databases."""
    if not text.startswith("{"):
        if ":" not in text:
            raise UnusableSecret("for scheme basic the secret is user:password, or JSON with username and password")
        return text
    return f"{_member_of(text, 'username')}:{_member_of(text, 'password')}"


def _object_in(secret: str) -> Mapping[str, Any]:
    try:
        value = json.loads(secret)
    except ValueError:
        raise UnusableSecret("the secret is no JSON object") from None
    if not isinstance(value, dict):
        raise UnusableSecret("the secret is no JSON object")
    return value
