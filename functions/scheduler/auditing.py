"""The audit's step: what `audit.py` asks for is read, and what it finds missing is dispatched again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from functions.scheduler.audit import Auditor, Look
from functions.scheduler.counts import Counts
from functions.scheduler.outbox import Outbox
from functions.scheduler.ownership import Ownership
from functions.scheduler.recall import Recall
from shared.domain.errors import StoreError
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.keys import RunKey
from shared.domain.run import Run
from shared.observability.logs import logger_for

_log = logger_for("scheduler")


@dataclass(frozen=True, slots=True)
class _Rows:
    found: dict[RunKey, Run]
    unreadable: set[RunKey] = field(default_factory=set)


@dataclass(slots=True)
class AuditStep:
    owned: Ownership
    outbox: Outbox
    auditor: Auditor
    counts: Counts
    _told: Counts = field(default_factory=Counts)

    def audit_once(self) -> None:
        """Look up runs that must exist by now, and dispatch again what has none. Raises StoreError: they are looked up
        next time.
        """
        if not self.owned.may_dispatch:
            return
        looks = self._choose_looks()
        try:
            rows = self._rows_of(looks)
        except Exception:
            with self.owned.lock:
                self.auditor.put_back(looks)
            raise
        looks = [look for look in looks if look.due.key not in rows.unreadable]
        with self.owned.lock:
            judgement = self.auditor.judge(looks, rows.found, self.owned.ports.clock.now())
            self.outbox.put(judgement.again, at=self.owned.ports.clock.monotonic())
        for due in judgement.lost:
            # By name, for somebody is to run it by hand.
            named = {"job_key": due.entry.job_key, "run_id": due.run_id, "slot": to_rfc3339(due.slot), "lane": due.lane}
            _log.error("lost", extra={"action": "fire.lost", **named})
        self._tell()

    def _rows_of(self, looks: Sequence[Look]) -> _Rows:
        """Raises StoreError. Where one row cannot be read each is asked for by itself."""
        keys = list(dict.fromkeys(look.due.key for look in looks))
        try:
            return _Rows(self.owned.ports.runs.get_many(keys) if keys else {})
        except StoreError:
            raise
        except Exception as error:
            rows = self._one_by_one(keys)
            if len(rows.unreadable) == len(keys) > 1:
                # It is not this row or that.
                raise
            for key in rows.unreadable:
                self._tell_unreadable(key, error)
            return rows

    def _one_by_one(self, keys: Sequence[RunKey]) -> _Rows:
        rows = _Rows({})
        for key in keys:
            try:
                rows.found.update(self.owned.ports.runs.get_many([key]))
            except StoreError:
                raise
            except Exception:  # noqa: BLE001 (told by the caller)
                rows.unreadable.add(key)
        return rows

    def _tell_unreadable(self, key: RunKey, error: Exception) -> None:
        """There is a row, so that the slot was not lost."""
        with self.owned.lock:
            self.counts.unaudited += 1
        named = {"job_key": key.job_key, "run_id": key.run_id, "error": repr(error)}
        _log.error("unreadable", extra={"action": "audit.unreadable", **named})

    def _choose_looks(self) -> list[Look]:
        auditor, room = self.auditor, self.owned.settings.audit.rows_at_once
        now = self.owned.ports.clock.now()
        with self.owned.lock:
            looks = auditor.take_remembered(now)
        for _ in range(self.owned.settings.audit.times_at_once):
            if len(looks) >= room:
                break
            with self.owned.lock:
                recalls = auditor.next_entries(self.owned.shards, now)
            for recall in recalls:
                looks += self._recalled(recall, now)
        with self.owned.lock:
            auditor.put_back(looks[room:])
        return looks[:room]

    def _recalled(self, recall: Recall, now: Instant) -> list[Look]:
        try:
            return self.auditor.looks_of(recall, now)
        except Exception as error:  # noqa: BLE001 (the other entries are audited all the same)
            self.owned.setbacks.met(error)
            named = {"job_key": recall.entry.job_key, "entry_id": recall.entry.entry_id, "error": repr(error)}
            _log.error("not recalled", extra={"action": "audit.recall", **named})
            return []

    def _tell(self) -> None:
        """One line for what was counted since the last one."""
        with self.owned.lock:
            added, self._told = self.counts.since(self._told), self.counts.copy()
        if added:
            is_bad = added.get("lost") or added.get("overlooked")
            (_log.error if is_bad else _log.info)("audit", extra={"action": "audit", **added})
