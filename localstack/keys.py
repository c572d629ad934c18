"""The API key of the demo, written past the API: on a new stack nobody has a key to ask it for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localstack import endpoints
from shared.adapters.dynamodb.access_rows import write_key
from shared.adapters.system import SystemClock, SystemRandomness
from shared.domain.access import KEY_ID_BYTES, SECRET_BYTES, Scope, mint_key

if TYPE_CHECKING:
    from collections.abc import Mapping

DEMO_OWNER = "demo"


def issue_demo_key(endpoint: str, outputs: Mapping[str, str]) -> str:
    """A new key with every scope; the text that goes after `Bearer`. Empty when the app has no table of keys."""
    table = outputs.get("AccessTable")
    if table is None:
        return ""
    key, text = mint_key(
        owner_id=DEMO_OWNER,
        scopes=frozenset(Scope),
        created_by="localstack",
        now=SystemClock().now(),
        randomness=SystemRandomness().random_bytes(KEY_ID_BYTES + SECRET_BYTES),
        name="demo",
    )
    endpoints.dynamodb(endpoint).put_item(TableName=table, Item=write_key(key))
    return text
