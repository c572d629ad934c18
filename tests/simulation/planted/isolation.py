"""One bad thing hurts only itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from functions.worker import keeping, reading
from functions.worker.crew import Crew
from functions.worker.job_reader import JobsRead
from functions.worker.live_run import LiveRun
from shared.domain.errors import StoreError
from shared.domain.run import Run
from shared.ports import JobStore
from tests.simulation.planted.mutant import Mutant, instead
from tests.simulation.stores import RecordedRunStore
from tests.simulation.threads import CannotStart


def _insert_all_or_none(self: RecordedRunStore, runs: Sequence[Run]) -> list[Run | StoreError | None]:
    answers = _INSERT(self, runs)
    for answer in answers:
        if isinstance(answer, StoreError):
            raise answer
    return answers


_INSERT = RecordedRunStore.insert


def _report_as_it_is(self: LiveRun, text: object) -> None:
    self._progress = text  # type: ignore[assignment]


def _start_one_or_raise(self: Crew) -> bool:
    if not _START_ONE(self):
        raise CannotStart
    return True


_START_ONE = Crew._start_one


def _read_all_or_none(job_store: JobStore, job_keys: Collection[str]) -> JobsRead:
    return JobsRead(job_store.get_many(job_keys))


MENDED = (
    Mutant(
        "unreadable_job_stops",
        "a job that cannot be read costs its own run alone",
        instead(reading, "read_jobs", _read_all_or_none),
        family="unreadable_rows",
    ),
    Mutant(
        "threads_that_raise",
        "a thread that does not start costs its run alone a hand-back",
        instead(Crew, "_start_one", _start_one_or_raise),
        family="workers_come_and_go",
    ),
    Mutant(
        "old_message_kept",
        "a run does not wait for a message that the queue may drop before",
        instead(keeping, "is_old", lambda *_, **__: False),
        family="old_messages",
    ),
    Mutant(
        "refused_row_fails_batch",
        "a row that the table does not take fails alone, and not with its batch",
        instead(RecordedRunStore, "insert", _insert_all_or_none),
        family="refused_rows",
    ),
    Mutant(
        "odd_progress",
        "what a handler reports of its progress is cut to what a row can hold",
        instead(LiveRun, "report", _report_as_it_is),
        family="refused_rows",
    ),
)
