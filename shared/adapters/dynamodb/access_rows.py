"""Rows of table `access`.

key#<key_id>           an API key; never expired by TTL, so that a list still shows it
keys#<owner>           the set of the owner's key ids, kept in one transaction with them
idem#<owner>#<key>     a receipt
rate#<owner>#<window>  how many requests of a window are taken
starts#<owner>         until when starts of redriven runs are booked
grant#<owner>          all grants of the owner, and a revision
hook#<owner>           all keys that sign the owner's webhooks, and a revision
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shared.adapters.dynamodb.attributes import Row, read_text, text
from shared.adapters.dynamodb.columns import (
    document_column,
    known_members,
    read_columns,
    seconds_until,
    text_column,
    whole_column,
    write_columns,
)
from shared.domain.access import ApiKey, Chosen, Receipt, Scope
from shared.domain.grants import Grant
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.signing import SigningKey

PARTITION = "pk"
TTL = "expires_at"
KEY_IDS = "key_ids"
BOOKED_UNTIL = "booked_until"

_EXPIRES_AT = whole_column("expires_at_ms", field="expires_at")
KEY_COLUMNS = (
    text_column("owner_id"),
    text_column("secret_hash"),
    document_column("scopes", sorted, lambda stored: frozenset(map(Scope, stored))),
    whole_column("created_at"),
    text_column("created_by"),
    text_column("name", absent=""),
    _EXPIRES_AT,
    whole_column("revoked_at"),
)


def _chosen_to_json(chosen: tuple[Chosen, ...]) -> list[Any]:
    return [[*each.key, each.token, *([each.obstacle] if each.obstacle else [])] for each in chosen]


def _chosen_from_json(stored: list[Any]) -> tuple[Chosen, ...]:
    return tuple(Chosen(RunKey(job_key, run_id), token, *more[:1]) for job_key, run_id, token, *more in stored)


RECEIPT_COLUMNS = (
    text_column("fingerprint"),
    whole_column("at"),
    text_column("job_id", absent=""),
    whole_column("generation"),
    whole_column("revision"),
    text_column("run_id"),
    text_column("access_id"),
    document_column("chosen", _chosen_to_json, _chosen_from_json, absent=()),
    text_column("next_cursor"),
    _EXPIRES_AT,
)


def key_row_key(key_id: str) -> Row:
    return {PARTITION: text(f"key#{key_id}")}


def owner_key(owner_id: str) -> Row:
    return {PARTITION: text(f"keys#{owner_id}")}


def receipt_key(owner_id: str, idempotency_key: str) -> Row:
    return {PARTITION: text(f"idem#{owner_id}#{idempotency_key}")}


def rate_key(owner_id: str, window: Instant) -> Row:
    return {PARTITION: text(f"rate#{owner_id}#{window}")}


def starts_key(owner_id: str) -> Row:
    return {PARTITION: text(f"starts#{owner_id}")}


def write_key(key: ApiKey) -> Row:
    return key_row_key(key.key_id) | write_columns(KEY_COLUMNS, key)


def read_key(row: Row) -> ApiKey:
    key_id = read_text(row[PARTITION]).partition("#")[2]
    return ApiKey(key_id=key_id, **read_columns(KEY_COLUMNS, row))


def write_receipt(receipt: Receipt) -> Row:
    row = receipt_key(receipt.owner_id, receipt.idempotency_key) | write_columns(RECEIPT_COLUMNS, receipt)
    row[TTL] = seconds_until(receipt.expires_at)
    return row


def read_receipt(row: Row) -> Receipt:
    _, owner_id, idempotency_key = read_text(row[PARTITION]).split("#", 2)
    return Receipt(owner_id=owner_id, idempotency_key=idempotency_key, **read_columns(RECEIPT_COLUMNS, row))


def grants_key(owner_id: str) -> Row:
    return {PARTITION: text(f"grant#{owner_id}")}


def signing_keys_key(owner_id: str) -> Row:
    return {PARTITION: text(f"hook#{owner_id}")}


def to_json(item: Grant | SigningKey) -> dict[str, Any]:
    """As an item of the owner's list, whose key says the owner."""
    said = {name: value for name, value in asdict(item).items() if name != "owner_id" and value is not None}
    # As they are read again: items are compared.
    return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}


def grant_from_json(owner_id: str, stored: dict[str, Any]) -> Grant:
    known = known_members(Grant, stored)
    lists = {name: tuple(known.get(name, ())) for name in ("members", "hosts")}
    return Grant(owner_id=owner_id, **known | lists)


def signing_key_from_json(owner_id: str, stored: dict[str, Any]) -> SigningKey:
    return SigningKey(owner_id=owner_id, **known_members(SigningKey, stored))
