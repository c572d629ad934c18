"""The places of a job's runs: on the job's row, for each kind of place a map of its holders by run_id.

Usually one conditional write takes a place, and reads nothing: refused, it is shown the row, decides on what stands
there and writes where that is still so. Maps stay empty when the last holder leaves; they are made once per job.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed
from shared.adapters.dynamodb import conditions, job_rows
from shared.adapters.dynamodb.attributes import Row, Value, read_whole, whole
from shared.adapters.dynamodb.columns import seconds_until
from shared.adapters.dynamodb.statements import Statement, Statements, update
from shared.domain.errors import StoreContended
from shared.domain.instants import DAY, Instant
from shared.domain.overlap import Free, Holder, Place, Taken, room_for
from shared.ports.job_store import Hold

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TOKEN, _LEASE_UNTIL = "token", "lease_until"
#: Each time another run was faster; one of them got further then.
_RACES_LOST = 50
#: Longer than any run goes on after its start, for a heartbeat does not prolong it.
_OWNER_ROW_KEPT_MS = 2 * DAY


class JobHolds:
    def __init__(self, client: DynamoDBClient, calls: Calls, table: str) -> None:
        self._client = client
        self._calls = calls
        self._table = table
        self._statements = Statements(client, calls)

    def hold(self, hold: Hold, *, limit: int, now: Instant, clock_bound_ms: int) -> tuple[Holder, ...]:
        values = {":most": whole(limit - 1), ":holder": _write(hold.holder)}
        row = self._write(hold, conditions.TAKE_PLACE, conditions.ROOM_IS_LEFT, values)
        for _ in range(_RACES_LOST):
            if row is None or (not row and hold.place is not Place.OWNER):
                return ()
            if hold.place not in row:
                row = self._be_first(hold)
                continue
            holders = _read(row[hold.place])
            room = room_for(hold.holder, holders, limit=limit, now=now, clock_bound_ms=clock_bound_ms)
            if isinstance(room, Taken):
                return room.by
            row = self._replace(hold, row[hold.place]["M"], room, limit)
        raise StoreContended("jobs.hold", f"{hold.job_key}: other runs were faster each time")

    def _be_first(self, hold: Hold) -> Row | None:
        is_of_job = hold.place is not Place.OWNER
        condition = conditions.NOBODY_HELD_YET if is_of_job else conditions.NOBODY_OF_OWNER_HELD_YET
        values = {":holders": {"M": {hold.holder.run_id: _write(hold.holder)}}}
        return self._write(hold, conditions.FIRST_HOLDER, condition, values)

    def _replace(self, hold: Hold, seen: Row, room: Free, limit: int) -> Row | None:
        """Take the place of those that are gone, and of one's own older claim, where they are still as seen."""
        mine = hold.holder.run_id
        replaced = [each.run_id for each in room.gone] + ([mine] if mine in seen else [])
        terms = ["size(#place) <= :most"]
        values: Row = {":holder": _write(hold.holder), ":most": whole(limit - 1 + len(replaced))}
        names = {}
        for number, run_id in enumerate(replaced):
            names[f"#seen{number}"] = run_id
            values[f":seen{number}"] = seen[run_id]
            terms.append(f"#place.#seen{number} = :seen{number}")
        if mine not in seen:
            terms.append("attribute_not_exists(#place.#run)")
        removed = [f"#place.#seen{number}" for number in range(len(room.gone))]
        return self._write(hold, conditions.TAKE_PLACE, " AND ".join(terms), values, names=names, removed=removed)

    def _write(
        self,
        hold: Hold,
        expression: str,
        condition: str,
        values: Row,
        *,
        names: Mapping[str, str] = MappingProxyType({}),
        removed: Sequence[str] = (),
    ) -> Row | None:
        """None when it was written; else the row that refused it, empty when there is none."""
        if hold.place is Place.OWNER:
            expression += conditions.KEEP_ROW
            values = values | {":expires_at": seconds_until(hold.holder.lease_until + _OWNER_ROW_KEPT_MS)}
        if removed:
            expression += f" REMOVE {', '.join(removed)}"
        known = {
            "#place": hold.place.value,
            "#run": hold.holder.run_id,
            "#job_key": job_rows.KEY,
            "#expires_at": job_rows.TTL,
        }
        known |= names
        used = {name: of for name, of in known.items() if name in f"{expression} {condition}"}
        try:
            self._calls.repeat(
                "jobs.hold",
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=job_rows.key_of(hold.job_key),
                    UpdateExpression=expression,
                    ConditionExpression=condition,
                    ExpressionAttributeNames=used,
                    ExpressionAttributeValues=values,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                ),
            )
        except ConditionFailed as failed:
            return failed.row or {}
        return None

    def extend(self, holds: Sequence[Hold]) -> list[bool]:
        statements = [self._extension(hold) for hold in holds]
        return self._statements.run_in_rounds("jobs.extend", statements, [hold.job_key for hold in holds])

    def release(self, holds: Collection[Hold]) -> None:
        statements = [self._departure(hold) for hold in holds]
        self._statements.run_in_rounds("jobs.release", statements, [hold.job_key for hold in holds])

    def _extension(self, hold: Hold) -> Statement:
        path = f"{hold.place}.{hold.holder.run_id}"
        return update(
            self._table,
            key=job_rows.key_of(hold.job_key),
            sets={f"{path}.{_LEASE_UNTIL}": whole(hold.holder.lease_until)},
            where={f"{path}.{_TOKEN}": whole(hold.holder.token)},
        )

    def _departure(self, hold: Hold) -> Statement:
        path = f"{hold.place}.{hold.holder.run_id}"
        return update(
            self._table,
            key=job_rows.key_of(hold.job_key),
            sets={},
            removes=[path],
            where={f"{path}.{_TOKEN}": whole(hold.holder.token)},
        )


def _write(holder: Holder) -> Value:
    return {"M": {_TOKEN: whole(holder.token), _LEASE_UNTIL: whole(holder.lease_until)}}


def _read(holders: Any) -> list[Holder]:
    return [
        Holder(run_id, read_whole(each["M"][_TOKEN]), Instant(read_whole(each["M"][_LEASE_UNTIL])))
        for run_id, each in holders["M"].items()
    ]
