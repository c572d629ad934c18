"""The dispatch: the message that hands one slot to a lane. It carries no payload; the worker reads the job.

Readers accept `VERSION` and `VERSION + 1`; a newer version may only add members, which this reader ignores. Writers
stay on `VERSION` until every worker knows the next.
"""

from __future__ import annotations

import json.encoder
from dataclasses import dataclass
from typing import Any

from shared.domain.errors import MessageUnreadable
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.run import Run, RunKind, RunStatus

VERSION = 1
READABLE_VERSIONS = range(VERSION, VERSION + 2)

_WHOLE = ("generation", "slot", "fire_at", "shard", "epoch", "enqueued_at", "attempt")
_TEXTS = ("job_key", "run_id")

_quoted = json.encoder.encode_basestring_ascii


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One attempt at one run, on its way to a worker."""

    job_key: str
    generation: int
    slot: Instant
    fire_at: Instant
    run_id: str
    shard: int
    epoch: int
    enqueued_at: Instant
    attempt: int = 1
    kind: RunKind = RunKind.SCHEDULED
    #: A fire that no schedule made (manual, backfill, redrive, retry): the worker does not ask whether the schedule
    #: knows its slot. Never set for a one-time job, which a change of its `at` must supersede.
    is_single: bool = False
    #: The entry of the job that it comes from, None for a single fire: a worker that finds no job deletes it.
    entry_id: str | None = None
    #: Where it is traced (`shared.domain.traces`); beside the body, where SQS has a place for it.
    trace: str | None = None

    @property
    def key(self) -> RunKey:
        return RunKey(self.job_key, self.run_id)

    def row(self, status: RunStatus) -> Run:
        """The row of a run that has none yet, as far as the message knows it."""
        return Run(
            job_key=self.job_key,
            run_id=self.run_id,
            kind=self.kind,
            slot=self.slot,
            fire_at=self.fire_at,
            status=status,
            generation=self.generation,
            attempt=self.attempt,
            enqueued_at=self.enqueued_at,
            trace=self.trace,
        )


def encode(dispatch: Dispatch) -> str:
    """The body of the message."""
    # By hand: a third of the time, and the scheduler does little else.
    is_single = "true" if dispatch.is_single else "false"
    entry_id = "null" if dispatch.entry_id is None else _quoted(dispatch.entry_id)
    return (
        f'{{"v":{VERSION},"job_key":{_quoted(dispatch.job_key)},"generation":{dispatch.generation},'
        f'"slot":{dispatch.slot},"fire_at":{dispatch.fire_at},"run_id":{_quoted(dispatch.run_id)},'
        f'"shard":{dispatch.shard},"epoch":{dispatch.epoch},"enqueued_at":{dispatch.enqueued_at},'
        f'"attempt":{dispatch.attempt},"kind":"{dispatch.kind.value}","single":{is_single},'
        f'"entry_id":{entry_id}}}'
    )


def decode(body: str) -> Dispatch:
    """Raises MessageUnreadable for another version, or for a body that is none of ours."""
    try:
        document: dict[str, Any] = json.loads(body)
        version = document["v"]
    except (ValueError, TypeError, KeyError) as error:
        reason = f"no dispatch: {error!r}"
        raise MessageUnreadable(reason) from error
    if version not in READABLE_VERSIONS:
        reason = "unknown version"
        is_newer = isinstance(version, int) and version >= READABLE_VERSIONS.stop
        raise MessageUnreadable(reason, version=version, is_newer=is_newer)
    try:
        _check_types(document)
        return Dispatch(
            job_key=document["job_key"],
            generation=document["generation"],
            slot=Instant(document["slot"]),
            fire_at=Instant(document["fire_at"]),
            run_id=document["run_id"],
            shard=document["shard"],
            epoch=document["epoch"],
            enqueued_at=Instant(document["enqueued_at"]),
            attempt=document["attempt"],
            kind=RunKind(document["kind"]),
            is_single=document["single"],
            entry_id=document.get("entry_id"),
        )
    except (KeyError, TypeError, ValueError) as error:
        reason = f"incomplete dispatch: {error!r}"
        raise MessageUnreadable(reason, version=version) from error


def _check_types(document: dict[str, Any]) -> None:
    """What is of another type would break the worker far from here, and the batch with it. Raises TypeError."""
    for names, kind in ((_WHOLE, int), (_TEXTS, str)):
        for name in names:
            if not isinstance(document[name], kind):
                raise TypeError(f"{name} is {document[name]!r}")
