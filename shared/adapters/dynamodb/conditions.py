"""Every condition, update and query of the tables. `#name` is the attribute `name`, as the codec of its table calls it;
`:value` is given by the call.

A writer whose condition fails is shown the row (`ALL_OLD`), so that it can tell a lost race from a repeat of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

# jobs ---------------------------------------------------------------------------------------------------------------

JOB_IS_NEW = "attribute_not_exists(#job_key)"
#: The state too, for a completion does not raise the revision.
JOB_IS_AS_READ = "#revision = :read_revision AND #state = :read_state"
GENERATION_IS_ACTIVE = "#generation = :generation AND #state = :active"
COMPLETE_JOB = "SET #state = :completed, #expires_at = :expires_at, #expires_at_ms = :expires_at_ms"
IS_NOT_ANSWERED = "#generation = :generation AND attribute_not_exists(#cancellation)"
RECORD_CANCELLATION = "SET #cancellation = :cancellation"
JOBS_OF_SLICE = "#owner_slice = :slice"

# access -------------------------------------------------------------------------------------------------------------

#: TTL deletes late: a receipt past its time counts as none.
RECEIPT_IS_FREE = "attribute_not_exists(#pk) OR #expires_at_ms <= :now"
KEY_IS_NEW = "attribute_not_exists(#pk)"
KEY_EXISTS = "attribute_exists(#pk)"
ADD_KEY_ID = "ADD #key_ids :key_ids"
LEASE_IS_LEFT = "attribute_not_exists(#leased) OR #leased <= :most"
LEASE_REQUESTS = "ADD #leased :count SET #expires_at = :expires_at"
REVOKE_KEY = "SET #revoked_at = if_not_exists(#revoked_at, :at)"
LIST_IS_NEW = "attribute_not_exists(#pk)"
LIST_IS_AS_READ = "#revision = :read_revision"

# job_schedules ------------------------------------------------------------------------------------------------------

ENTRIES_DUE = "#shard = :shard AND #next_at BETWEEN :since AND :until"
#: `attribute_exists`: an update creates the row it does not find, and a deleted entry must stay deleted.
ENTRY_IS_EARLIER = "attribute_exists(#entry_id) AND #next_at < :next_at"
MOVE_ENTRY = "SET #next_at = :next_at REMOVE #fresh"

# job_runs -----------------------------------------------------------------------------------------------------------

#: Lease and status too: a run that was prolonged or ended since it was read is not taken over.
_FENCE_IS_AS_SEEN = "#token = :seen_token AND #status = :seen_status AND #lease_until = :seen_lease_until"
RUN_IS_AS_SEEN = f"{_FENCE_IS_AS_SEEN} AND #claim_id = :seen_claim_id"
#: The same where the row was claimed without a claim_id, which is then no attribute.
UNCLAIMED_RUN_IS_AS_SEEN = f"{_FENCE_IS_AS_SEEN} AND attribute_not_exists(#claim_id)"
RUNS_OF_JOB = "#job_key = :job_key"
RUNS_SINCE = "#job_key = :job_key AND #run_id >= :run_id"

# fleet --------------------------------------------------------------------------------------------------------------

ROWS_OF_KIND = "#kind = :kind"
#: A shard nobody ever owned has no row, and so neither owner nor epoch.
LEASE_NEVER_OWNED = "attribute_not_exists(#epoch)"
LEASE_IS_HELD = "#owner = :seen_owner AND #epoch = :seen_epoch"
LEASE_IS_FREE = "attribute_not_exists(#owner) AND #epoch = :seen_epoch"
TAKE_LEASE = "SET #owner = :owner, #epoch = :epoch, #watermark = if_not_exists(#watermark, :watermark)"
WATERMARK_RISES = f"{LEASE_IS_HELD} AND #watermark < :watermark"
RAISE_WATERMARK = "SET #watermark = :watermark"
DISOWN_LEASE = "REMOVE #owner"
PIN_SHARD_COUNT = "SET #shard_count = if_not_exists(#shard_count, :shard_count)"
SET_FIRING = "SET #is_firing = :is_firing"

_NAME = re.compile(r"#(\w+)")


@lru_cache(maxsize=256)
def _names_in(expression: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"#{name}", name) for name in dict.fromkeys(_NAME.findall(expression)))


def names(*expressions: str) -> dict[str, str]:
    """ExpressionAttributeNames of these expressions: none is refused as a reserved word."""
    return {placeholder: name for expression in expressions for placeholder, name in _names_in(expression)}


def set_and_remove(present: Iterable[str], absent: Iterable[str]) -> str:
    """An update that sets each present attribute `name` to `:name`, and removes the absent ones."""
    sets = ", ".join(f"#{name} = :{name}" for name in present)
    removes = ", ".join(f"#{name}" for name in absent)
    return f"SET {sets} REMOVE {removes}" if removes else f"SET {sets}"
