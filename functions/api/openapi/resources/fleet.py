"""The fleet, the brake, and the end of an owner."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import Operation, Operations
from functions.api.openapi.shapes import COUNT, CURSOR, FLAG, INSTANT, TEXT, Schema, nullable, one_of, record

OPERATIONS: Final[Operations] = {
    ("GET", "/v1/fleet"): Operation(
        "showFleet",
        "fleet",
        "Show nodes, shards and watermarks (admin)",
        "Fleet",
        description=(
            "A node is `silent` when its beat has not changed for 4 s, and `unknown` at the first look of the process "
            "that answers. `lag_ms` is how long the oldest slot of a shard has been due that is not settled, 0 when "
            "nothing is owed; of a shard whose owner is gone or silent, how far its watermark lies back. A node whose "
            "clock is more than 5 s off DynamoDB's neither fires nor skips anything until the two agree again."
        ),
    ),
    ("PUT", "/v1/fleet/firing"): Operation(
        "setFiring",
        "fleet",
        "The brake: let nobody dispatch, or let all dispatch again (admin)",
        "Firing",
        example={"on": True},
        description="Obeyed within two seconds. What was dispatched before still runs.",
    ),
    ("POST", "/v1/owners/<owner_id>/erase"): Operation(
        "eraseOwner",
        "fleet",
        "Erase everything an owner wrote (admin)",
        "OwnerErasure",
        path={"owner_id": "acme"},
        example={},
        description=(
            "Bounded: repeat it, with `cursor` while there is a `next_cursor`, until `is_done`. Under an "
            "Idempotency-Key nothing is touched that was made since the first request."
        ),
        problems=(409, 422),
    ),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Fleet": record(
        {
            "firing": FLAG,
            "shard_count": COUNT,
            "nodes": {
                "type": "array",
                "items": record(
                    {
                        "node_id": TEXT,
                        "status": one_of("alive", "silent", "unknown"),
                        "beat": COUNT,
                        "version": TEXT,
                        "message_version": COUNT,
                        "started_at": INSTANT,
                        "shards": {"type": "array", "items": COUNT},
                    }
                ),
            },
            "shards": {
                "type": "array",
                "items": record(
                    {
                        "shard": COUNT,
                        "owner": nullable(TEXT),
                        "epoch": COUNT,
                        "watermark": nullable(INSTANT),
                        "lag_ms": nullable(COUNT),
                    }
                ),
            },
        }
    ),
    "Firing": record({"on": FLAG}),
    "OwnerErasure": record({"jobs": COUNT, "runs": COUNT, "keys": COUNT, "is_done": FLAG, "next_cursor": CURSOR}),
}
