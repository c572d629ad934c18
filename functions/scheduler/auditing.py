"""The audit's step: what `audit.py` asks for is read, and what it finds missing is dispatched again."""

from __future__ import annotations

from dataclasses import dataclass, field

from functions.scheduler.audit import Auditor, Look
from functions.scheduler.counts import Counts
from functions.scheduler.outbox import Outbox
from functions.scheduler.ownership import Ownership
from shared.domain.errors import StoreError
from shared.domain.instants import to_rfc3339
from shared.observability.logs import logger_for

_log = logger_for("scheduler")


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
            rows = self.owned.ports.runs.get_many([look.due.key for look in looks]) if looks else {}
        except StoreError:
            with self.owned.lock:
                self.auditor.put_back(looks)
            raise
        with self.owned.lock:
            judgement = self.auditor.judge(looks, rows, self.owned.ports.clock.now())
            self.outbox.put(judgement.again, at=self.owned.ports.clock.monotonic())
        for due in judgement.lost:
            # By name, for somebody is to run it by hand.
            named = {"job_key": due.entry.job_key, "run_id": due.run_id, "slot": to_rfc3339(due.slot), "lane": due.lane}
            _log.error("lost", extra={"action": "fire.lost", **named})
        self._tell()

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
                looks += auditor.looks_of(recall, now)
        with self.owned.lock:
            auditor.put_back(looks[room:])
        return looks[:room]

    def _tell(self) -> None:
        """One line for what was counted since the last one."""
        with self.owned.lock:
            added, self._told = self.counts.since(self._told), self.counts.copy()
        if added:
            is_bad = added.get("lost") or added.get("overlooked")
            (_log.error if is_bad else _log.info)("audit", extra={"action": "audit", **added})
