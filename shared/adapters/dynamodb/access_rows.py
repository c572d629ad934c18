"""Rows of table `access`.

key#<key_id>           an API key; never expired by TTL, so that a list still shows it
keys#<owner>           the set of the owner's key ids, kept in one transaction with them
idem#<owner>#<key>     a receipt
"""

from __future__ import annotations

from shared.adapters.dynamodb.attributes import Row, read_text, text
from shared.adapters.dynamodb.columns import (
    document_column,
    read_columns,
    seconds_until,
    text_column,
    whole_column,
    write_columns,
)
from shared.domain.access import ApiKey, Receipt, Scope

PARTITION = "pk"
TTL = "expires_at"
KEY_IDS = "key_ids"

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
RECEIPT_COLUMNS = (
    text_column("fingerprint"),
    whole_column("at"),
    text_column("job_id"),
    whole_column("generation"),
    whole_column("revision"),
    _EXPIRES_AT,
)


def key_row_key(key_id: str) -> Row:
    return {PARTITION: text(f"key#{key_id}")}


def owner_key(owner_id: str) -> Row:
    return {PARTITION: text(f"keys#{owner_id}")}


def receipt_key(owner_id: str, idempotency_key: str) -> Row:
    return {PARTITION: text(f"idem#{owner_id}#{idempotency_key}")}


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
