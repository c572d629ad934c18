"""How late runs start: a job each second for some minutes, and a herd at one instant, through one lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from carillon.client import Client
from carillon.client.errors import CarillonError, JobNotFound
from carillon.client.run_documents import Run
from infra.prove.findings import Finding, Verdict
from infra.prove.smoke import PREFIX
from shared.adapters.system import SystemClock
from shared.ports import Clock

HERD = 200
#: For a herd to be written before it fires.
_AHEAD_SECONDS = 20
#: Behind the last fire: a Lambda starts cold, and a service that sleeps is woken.
_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 2.0
_HANDLER = {"type": "handler", "name": "echo"}


@dataclass(frozen=True, slots=True)
class Seen:
    """Runs of which so many are wanted."""

    wanted: int
    runs: Sequence[Run]

    @property
    def drifts(self) -> list[int]:
        """In ms, sorted, of runs that started."""
        return sorted(run["drift_ms"]["total"] for run in self.runs if run["drift_ms"] is not None)

    @property
    def is_whole(self) -> bool:
        return len(self.runs) == self.wanted and all(run["status"] == "succeeded" for run in self.runs)


def percentile(sorted_values: Sequence[int], share: float) -> int:
    """The smallest value that `share` of them do not exceed. Raises IndexError for none."""
    return sorted_values[max(0, -(-len(sorted_values) * round(share * 1000) // 1000) - 1)]


def finding_of(what: str, seen: Seen, *, is_emulator: bool) -> Finding:
    """Pure. Drift is measured, not judged; a run that is missing or failed is a failure."""
    statuses = Counter(run["status"] for run in seen.runs)
    evidence = f"{len(seen.runs)} of {seen.wanted} runs: {', '.join(f'{n} {each}' for each, n in statuses.items())}"
    if seen.drifts:
        p50, p99 = (percentile(seen.drifts, share) for share in (0.5, 0.99))
        evidence += f"; drift p50 {p50} ms, p99 {p99} ms, max {seen.drifts[-1]} ms"
    if not seen.is_whole:
        return Finding("drift", what, Verdict.FAILED, evidence)
    if is_emulator:
        return Finding("drift", what, Verdict.NOT_SHOWN, f"an emulator is no judge of it; here {evidence}")
    return Finding("drift", what, Verdict.PASSED, evidence)


def prove_drift(
    client: Client, name: str, lane: str, *, seconds: int, herd: int, is_emulator: bool
) -> Iterator[Finding]:
    clock = SystemClock()
    measures: tuple[tuple[str, Callable[[], Seen]], ...] = (
        (f"lane {lane}, one run a second for {seconds} s", lambda: _each_second(client, name, lane, seconds, clock)),
        (f"lane {lane}, {herd} runs at one instant", lambda: _herd(client, name, lane, herd, clock)),
    )
    for what, measure in measures:
        try:
            yield finding_of(what, measure(), is_emulator=is_emulator)
        except CarillonError as failure:
            yield Finding("drift", what, Verdict.FAILED, f"{type(failure).__name__}: {failure}")


def _each_second(client: Client, name: str, lane: str, seconds: int, clock: Clock) -> Seen:
    job_id = f"{PREFIX}-{name}-{lane}-each-second"
    try:
        client.create_job(
            job_id=job_id, schedule={"every": "PT1S", "max_runs": seconds}, target=_HANDLER, lane=lane, overlap="allow"
        )
        return _wait(lambda: list(client.runs(job_id)), seconds, seconds + _PATIENCE_SECONDS, clock)
    finally:
        _remove(client, [job_id])


def _herd(client: Client, name: str, lane: str, size: int, clock: Clock) -> Seen:
    ids = [f"{PREFIX}-{name}-{lane}-herd-{number}" for number in range(size)]
    at = (datetime.now(UTC) + timedelta(seconds=_AHEAD_SECONDS)).isoformat(timespec="seconds")
    try:
        made = client.create_jobs(
            {"job_id": job_id, "schedule": {"at": at}, "target": _HANDLER, "lane": lane} for job_id in ids
        )
        created = [job_id for job_id, item in zip(ids, made, strict=True) if item["status"] in {200, 201}]
        # One job after the other is asked, and only those whose run has not ended are asked again.
        ended: dict[str, Run] = {}

        def look() -> list[Run]:
            for job_id in created:
                run = None if job_id in ended else next(islice(client.runs(job_id), 1), None)
                if run is not None and run["ended_at"] is not None:
                    ended[job_id] = run
            return list(ended.values())

        clock.sleep(_AHEAD_SECONDS)
        return _wait(look, size, _PATIENCE_SECONDS, clock)
    finally:
        _remove(client, ids)


def _wait(look: Callable[[], list[Run]], wanted: int, patience_seconds: float, clock: Clock) -> Seen:
    """Until so many runs have ended, or patience has; those that go on then are counted as they are."""
    until = clock.monotonic() + patience_seconds
    while True:
        runs = look()
        is_over = len(runs) >= wanted and all(run["ended_at"] is not None for run in runs)
        if is_over or clock.monotonic() >= until:
            return Seen(wanted, runs)
        clock.sleep(_LOOK_SECONDS)


def _remove(client: Client, job_ids: Sequence[str]) -> None:
    for job_id in job_ids:
        try:
            client.delete_job(job_id, purge=True)
        except JobNotFound:
            continue
