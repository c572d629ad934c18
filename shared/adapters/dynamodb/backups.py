"""Point-in-time recovery of tables, for operators: no process that serves anybody makes these calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.domain.errors import WriteRefused
from shared.domain.instants import Instant, to_datetime, to_instant

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoBackups:
    def __init__(self, client: DynamoDBClient, calls: Calls) -> None:
        self._client = client
        self._calls = calls

    def newest(self, table: str) -> Instant:
        """The newest instant that the table can be brought back to. Raises StoreError."""
        answer = self._calls.repeat("backups.newest", lambda: self._client.describe_continuous_backups(TableName=table))
        recovery = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        newest = recovery.get("LatestRestorableDateTime")
        if newest is None:
            raise WriteRefused("backups.newest", f"table {table} has no point-in-time recovery")
        return to_instant(newest)

    def begin(self, source: str, target: str, at: Instant) -> None:
        """Bring `source` back to `at` as a new table `target`. One that was begun for this instant goes on.

        Raises StoreError: an instant outside the time that is kept, a target that is something else.
        """
        begun = self._describe(target)
        if begun is None:
            request: dict[str, Any] = {"SourceTableName": source, "TargetTableName": target}
            request["RestoreDateTime"] = to_datetime(at)
            self._calls.once("backups.begin", lambda: self._client.restore_table_to_point_in_time(**request))
            return
        restored_at = begun.get("RestoreSummary", {}).get("RestoreDateTime")
        if restored_at is None or to_instant(restored_at) != at:
            raise WriteRefused(
                "backups.begin", f"table {target} is there, and is not of this restore; take another prefix"
            )

    def is_ready(self, target: str) -> bool:
        table = self._describe(target)
        return table is not None and table["TableStatus"] == "ACTIVE"

    def complete(self, target: str, *, ttl: str | None) -> None:
        """What a restore leaves out: expiry, and point-in-time recovery of the new table itself. May be repeated."""
        told = self._calls.repeat("backups.complete", lambda: self._client.describe_time_to_live(TableName=target))
        expires = told["TimeToLiveDescription"]["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}
        if ttl is not None and not expires:
            self._calls.repeat(
                "backups.complete",
                lambda: self._client.update_time_to_live(
                    TableName=target, TimeToLiveSpecification={"Enabled": True, "AttributeName": ttl}
                ),
            )
        self._calls.repeat(
            "backups.complete",
            lambda: self._client.update_continuous_backups(
                TableName=target, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            ),
        )

    def _describe(self, table: str) -> dict[str, Any] | None:
        try:
            answer = self._calls.repeat("backups.describe", lambda: self._client.describe_table(TableName=table))
        except WriteRefused as refused:
            if "ResourceNotFoundException" in refused.reason:
                return None
            raise
        return dict(answer["Table"])
