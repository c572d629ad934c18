"""Every condition, update and query of the tables. `#name` is the attribute `name`, as the codec of its table calls it;
`:value` is given by the call.

A writer whose condition fails is shown the row (`ALL_OLD`), so that it can tell a lost race from a repeat of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from shared.adapters.dynamodb.attributes import Row

# jobs ---------------------------------------------------------------------------------------------------------------

JOB_IS_NEW = "attribute_not_exists(#job_key)"
#: The state too, for a completion does not raise the revision.
JOB_IS_AS_READ = "#revision = :read_revision AND #state = :read_state"
IS_NOT_ANSWERED = "#generation = :generation AND attribute_not_exists(#cancellation)"
RECORD_CANCELLATION = "SET #cancellation = :cancellation"
#: `#place` is the attribute of a kind of place, a map of its holders by run_id; `#run` is the run that takes one.
NOBODY_HELD_YET = "attribute_exists(#job_key) AND attribute_not_exists(#place)"
NOBODY_OF_OWNER_HELD_YET = "attribute_not_exists(#place)"
FIRST_HOLDER = "SET #place = :holders"
ROOM_IS_LEFT = "size(#place) <= :most AND attribute_not_exists(#place.#run)"
TAKE_PLACE = "SET #place.#run = :holder"
#: Beside either of them, in a row that is of no job and is nobody's to delete.
KEEP_ROW = ", #expires_at = :expires_at"
JOBS_OF_SLICE = "#owner_slice = :slice"

# access -------------------------------------------------------------------------------------------------------------

#: TTL deletes late: a receipt past its time counts as none.
RECEIPT_IS_FREE = "attribute_not_exists(#pk) OR #expires_at_ms <= :now"
KEY_IS_NEW = "attribute_not_exists(#pk)"
KEY_EXISTS = "attribute_exists(#pk)"
ADD_KEY_ID = "ADD #key_ids :key_ids"
LEASE_IS_LEFT = "attribute_not_exists(#leased) OR #leased <= :most"
LEASE_REQUESTS = "ADD #leased :count SET #expires_at = :expires_at"
#: A booking that begins now, and one that begins where the last one ends.
STARTS_ARE_FREE = "attribute_not_exists(#booked_until) OR #booked_until <= :at"
BOOK_STARTS = "SET #booked_until = :end, #expires_at = :expires_at"
STARTS_ARE_BOOKED = "#booked_until > :at"
BOOK_MORE_STARTS = "SET #booked_until = #booked_until + :length, #expires_at = #expires_at + :seconds"
REVOKE_KEY = "SET #revoked_at = if_not_exists(#revoked_at, :at)"
LIST_IS_NEW = "attribute_not_exists(#pk)"
LIST_IS_AS_READ = "#revision = :read_revision"

# job_schedules ------------------------------------------------------------------------------------------------------

ENTRIES_ANNOUNCED = "#shard = :shard AND #entry_id BETWEEN :since AND :until"
ENTRIES_PARKED = "#shard = :shard AND #next_at BETWEEN :since AND :until"
#: A deleted entry must stay deleted, and a parked one never moves back.
ENTRY_IS_THERE = "attribute_exists(#entry_id)"
#: `attribute_exists`: an update creates the row it does not find, and a deleted entry must stay deleted.
ENTRY_IS_EARLIER = "attribute_exists(#entry_id) AND #next_at < :next_at"
MOVE_ENTRY = "SET #next_at = :next_at, #fresh = :fresh"

# job_runs -----------------------------------------------------------------------------------------------------------

RUN_IS_NEW = "attribute_not_exists(#run_id)"
#: By this token, and nobody has asked for its end.
RUN_IS_HELD = "#token = :held_token AND #status = :running AND attribute_not_exists(#cancel_requested_at)"
#: What a claim, a heartbeat, a finish or a cancel of a run changes: each of them stops a take-over.
CLAIM_OF_RUN = ("token", "claim_id", "status", "lease_until", "cancel_requested_at")
#: The same for a plan, to which the lease says nothing.
FENCE_OF_RUN = ("token", "status", "cancel_requested_at")
FAILURES_OF_SLICE = "#failure_slice = :slice"
RUNS_OF_JOB = "#job_key = :job_key"
RUNS_BEFORE = "#job_key = :job_key AND #run_id < :run_id"
RUNS_BETWEEN = "#job_key = :job_key AND #run_id BETWEEN :first AND :last"
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


def all_as_seen(row: Row, attributes: Iterable[str]) -> tuple[str, Row]:
    """A condition, with its values, that each of these attributes is as it stands in `row`, or missing as there."""
    terms = []
    values: Row = {}
    for name in attributes:
        if name in row:
            terms.append(f"#{name} = :seen_{name}")
            values[f":seen_{name}"] = row[name]
        else:
            terms.append(f"attribute_not_exists(#{name})")
    return " AND ".join(terms), values


def set_and_remove(
    present: Iterable[str], absent: Iterable[str], *, paths: Mapping[str, Iterable[str]] = MappingProxyType({})
) -> str:
    """An update that sets each present attribute `name` to `:name`, and removes the absent ones. Of each map in `paths`
    it sets the members.
    """
    members = [f"#{parent}.#{name} = :{name}" for parent, names_of in paths.items() for name in names_of]
    sets = ", ".join([f"#{name} = :{name}" for name in present] + members)
    removes = ", ".join(f"#{name}" for name in absent)
    return f"SET {sets} REMOVE {removes}" if removes else f"SET {sets}"
