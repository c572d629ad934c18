"""What a list of starts comes to."""

from __future__ import annotations

from tests.benchmarks.end_to_end.figures import LATE_MS, Start, medians_of, recovery, resumed_seconds, summary
from tests.benchmarks.end_to_end.work import EACH_SECOND, HERD, SPREAD


def starts(*drifts_ms: float) -> list[Start]:
    """One of each of so many jobs, which are due a second after each other."""
    return [Start(f"job-{number}", number * 1000, number * 1000 + drift) for number, drift in enumerate(drifts_ms)]


def test_what_never_began_is_lost_and_what_began_twice_counts_once() -> None:
    found = summary([*starts(1, 2, 3), Start("job-1", 1000, 9_000)], expected=5)
    assert (found["lost"], found["duplicates"], found["early"]) == (2, 1, 0)
    assert found["drift_ms"] == {"p50": 2, "p99": 3, "max": 3}


def test_a_start_before_its_time_is_early() -> None:
    assert summary(starts(-0.1, 0), expected=2)["early"] == 1


def test_a_drain_is_from_the_first_instant_to_the_last_start() -> None:
    assert summary(starts(0, 0, 500), expected=3)["drain_s"] == 2.5


def test_of_several_runs_the_median_counts_and_of_faults_the_worst() -> None:
    runs = [{"drift_ms": {"p50": value}, "lost": lost} for value, lost in ((1, 0), (9, 2), (3, 0))]
    assert medians_of(runs) == {"drift_ms": {"p50": 3}, "lost": 2}


def test_a_recovery_is_from_the_kill_to_the_first_and_the_last_late_start() -> None:
    late = starts(0, LATE_MS, LATE_MS + 1, 2_000, 3)
    assert recovery(late, killed_ms=1_000) == {"first_late_s": 1.5, "normal_s": 4.0}
    assert recovery(starts(0, 1), killed_ms=0) == {"first_late_s": None, "normal_s": None}


def test_a_beat_resumes_at_the_end_of_its_longest_silence() -> None:
    beats = [Start("job", 0, moment) for moment in (900, 1_100, 6_000, 6_100)]
    assert resumed_seconds(beats, killed_ms=1_000) == 5.0
    assert resumed_seconds(beats[:1], killed_ms=1_000) == 0.0


def test_the_works_are_those_of_the_budgets() -> None:
    assert (SPREAD.starts, SPREAD.offsets_ms[-1]) == (2_000, 19_990)
    assert (HERD.starts, set(HERD.offsets_ms)) == (5_000, {0})
    assert (EACH_SECOND.starts, EACH_SECOND.jobs) == (4_000, 200)
