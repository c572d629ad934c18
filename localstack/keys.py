"""API keys written past the API: on a new stack nobody has a key to ask it for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localstack import endpoints
from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb.access_store import DynamoAccessStore
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames
from shared.domain.access import KEY_ID_BYTES, SECRET_BYTES, Scope, mint_key

if TYPE_CHECKING:
    from collections.abc import Mapping

DEMO_OWNER = "demo"


class KeyNotStored(Exception):
    """The id of a new key was taken."""


def issue_key(
    endpoint: str, table: str, *, owner_id: str = DEMO_OWNER, scopes: frozenset[Scope] = frozenset(Scope)
) -> str:
    """A new key of that owner; the text that goes after `Bearer`.

    Raises:
        KeyNotStored: of about 10^14 ids, the one that the dice gave was taken.
    """
    clock, randomness = SystemClock(), SystemRandomness()
    key, text = mint_key(
        owner_id=owner_id,
        scopes=scopes,
        created_by="localstack",
        now=clock.now(),
        randomness=randomness.random_bytes(KEY_ID_BYTES + SECRET_BYTES),
        name="local stack",
    )
    store = DynamoAccessStore(endpoints.dynamodb(endpoint), TableNames(access=table), Calls(clock, randomness))
    if not store.put_key(key):
        raise KeyNotStored(key.key_id)
    return text


def issue_demo_key(endpoint: str, outputs: Mapping[str, str]) -> str:
    """A key with every scope. Empty when the app has no table of keys."""
    table = outputs.get("AccessTable")
    return "" if table is None else issue_key(endpoint, table)
