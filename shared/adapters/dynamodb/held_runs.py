"""What the worker that holds a run writes of it: that it goes on, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from shared.adapters.dynamodb import run_rows
from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.listed_runs import ListedRuns
from shared.adapters.dynamodb.statements import Statement, Statements, update
from shared.adapters.run_rules import is_running, stored_status
from shared.domain.errors import StoreError
from shared.domain.keys import RunKey
from shared.domain.run import Finish, Run, RunStatus, as_cancelled
from shared.ports.run_store import Heartbeat, HeartbeatAnswer

#: Of a row whose end nobody has asked for.
_UNCANCELLED = (run_rows.CANCEL_REQUESTED_AT.name,)


class HeldRuns:
    def __init__(
        self,
        statements: Statements,
        table: str,
        get_many: Callable[[Collection[RunKey]], Mapping[RunKey, Run]],
        listed: ListedRuns,
    ) -> None:
        self._listed = listed
        self._statements = statements
        self._table = table
        self._get_many = get_many

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        self._listed.put((beat.key, beat.lease_until) for beat in beats if beat.lists)
        statements = [self._heartbeat(beat, _UNCANCELLED) for beat in beats]
        applied = self._statements.each_in_rounds("runs.heartbeat", statements, [beat.key for beat in beats])
        answers = [_answer_to_beat(each) for each in applied]
        # A request to cancel refuses the first, cheap write; whoever holds the run keeps it all the same.
        held = self._held_and_cancelled(beats, applied)
        statements = [self._heartbeat(beats[index]) for index in held]
        again = self._statements.each_in_rounds("runs.heartbeat", statements, [beats[index].key for index in held])
        for index, each in zip(held, again, strict=True):
            if each is True:
                answers[index] = HeartbeatAnswer.CANCEL_REQUESTED
            elif each is not False:
                answers[index] = HeartbeatAnswer.FAILED
        return answers

    def _heartbeat(self, beat: Heartbeat, missing: Sequence[str] = ()) -> Statement:
        sets: Row = {
            run_rows.LEASE_UNTIL.name: whole(beat.lease_until),
        }
        if beat.started_at is not None:
            sets[run_rows.STARTED_AT.name] = whole(beat.started_at)
        if beat.revision is not None:
            sets[run_rows.REVISION.name] = whole(beat.revision)
        if beat.progress is not None:
            sets[run_rows.PROGRESS.name] = text(beat.progress)
        key = run_rows.key_of(beat.key)
        return update(self._table, key=key, sets=sets, where=_is_running(beat.token), missing=missing)

    def _held_and_cancelled(
        self, held: Sequence[Heartbeat | Finish], applied: Sequence[bool | StoreError]
    ) -> list[int]:
        """The indexes of those that were refused for nothing but a request to cancel."""
        refused = [index for index, each in enumerate(applied) if each is False]
        rows = self._get_many([held[index].key for index in refused])
        return [
            index
            for index in refused
            if (row := rows.get(held[index].key)) is not None
            and is_running(row, held[index].token)
            and row.cancel_requested_at is not None
        ]

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        self._listed.put((each.key, each.lease_until) for each in finishes if each.lease_until is not None)
        statements = [self._finish(finish, _UNCANCELLED) for finish in finishes]
        applied = self._statements.each_in_rounds("runs.finish", statements, [finish.key for finish in finishes])
        answers = [_answer_to_end(finish, each) for finish, each in zip(finishes, applied, strict=True)]
        held = self._held_and_cancelled(finishes, applied)
        cancelled = [as_cancelled(finishes[index]) for index in held]
        statements = [self._finish(finish) for finish in cancelled]
        again = self._statements.each_in_rounds("runs.finish", statements, [finish.key for finish in cancelled])
        for index, each in zip(held, again, strict=True):
            answers[index] = each if isinstance(each, StoreError) else None
        refused = [index for index, answer in enumerate(answers) if answer is None]
        rows = self._get_many([finishes[index].key for index in refused])
        for index in refused:
            answers[index] = stored_status(rows.get(finishes[index].key), finishes[index])
        self._listed.remove(
            finish.key
            for finish, answer in zip(finishes, answers, strict=True)
            if isinstance(answer, RunStatus) and not answer.is_alive and (finish.is_listed or finish.status.is_alive)
        )
        return answers

    def _finish(self, finish: Finish, missing: Sequence[str] = ()) -> Statement:
        sets = run_rows.write_end(finish)
        for name, attempt in run_rows.write_attempts(finish.attempts, token=finish.token).items():
            sets[f"{run_rows.ATTEMPTS}.{name}"] = attempt
        key = run_rows.key_of(finish.key)
        where = _is_running(finish.token)
        return update(self._table, key=key, sets=sets, where=where, missing=missing)


def _is_running(token: int) -> Row:
    return {run_rows.TOKEN.name: whole(token), run_rows.STATUS.name: text(RunStatus.RUNNING)}


def _answer_to_beat(applied: bool | StoreError) -> HeartbeatAnswer:
    if isinstance(applied, StoreError):
        return HeartbeatAnswer.FAILED
    return HeartbeatAnswer.KEPT if applied else HeartbeatAnswer.FENCED


def _answer_to_end(finish: Finish, applied: bool | StoreError) -> RunStatus | StoreError | None:
    if isinstance(applied, StoreError):
        return applied
    return finish.status if applied else None
