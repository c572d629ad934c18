"""The grants of owners, asked before each call: one taken back ends what it allowed within seconds, and a new one
holds at once.
"""

from __future__ import annotations

from dataclasses import replace

from functions.worker.targets import Call, Outcome, failed, words_of
from functions.worker.targets.remembered import Remembered
from shared.domain.errors import StoreError
from shared.domain.grants import HTTP, GrantRules, NotGranted, Roles, Use
from shared.domain.targets import uses_of
from shared.ports import AccessStore, Clock

REMEMBERED_SECONDS = 30.0


class Gate:
    """Reads grants only for what needs one."""

    def __init__(self, rules: GrantRules, access: AccessStore, clock: Clock, *, region: str) -> None:
        self._rules = rules
        self._region = region
        self._grants = Remembered(access.grants, clock, seconds=REMEMBERED_SECONDS)

    def admit(self, call: Call) -> Call | Outcome:
        uses = uses_of(call.target, region=self._region)
        if not any(map(self._rules.needs_grant, uses)):
            return call
        try:
            judged = self._judge(call, *uses)
        except StoreError as error:
            return failed("refused", f"the owner's grants could not be read: {words_of(error)}")
        if isinstance(judged, NotGranted):
            return failed("not_granted", judged.detail, is_permanent=True)
        return replace(call, roles=judged)

    def refusal_of_host(self, call: Call, host: str) -> str | None:
        """Why a redirect to this host is not followed, or None. Raises StoreError."""
        use = Use(HTTP, host)
        if not self._rules.needs_grant(use):
            return None
        judged = self._judge(call, use)
        return judged.detail if isinstance(judged, NotGranted) else None

    def _judge(self, call: Call, *uses: Use) -> Roles | NotGranted:
        judged = self._rules.judge(uses, self._grants(call.owner_id))
        if isinstance(judged, NotGranted):
            # Perhaps granted since: only what was allowed is remembered.
            self._grants.forget(call.owner_id)
            judged = self._rules.judge(uses, self._grants(call.owner_id))
        return judged
