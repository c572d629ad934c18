"""The budgets of the design, one row each, and the figures that are held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.benchmarks.outcome import Result, shown

Verdict: TypeAlias = Literal["ok", "short", "not measured"]


@dataclass(frozen=True, slots=True)
class Limit:
    """`figure` is `<bench>.<figure>`; what it says is followed by its unit."""

    says: str
    figure: str
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""

    def value(self, results: Mapping[str, Result]) -> float | None:
        bench, _, name = self.figure.partition(".")
        return results[bench].figures.get(name) if bench in results else None

    def is_met(self, value: float) -> bool:
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)

    def found(self, value: float | None) -> str:
        return f"{self.says} {'?' if value is None else shown(value) + self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Budget:
    what: str
    budget: str
    limits: tuple[Limit, ...]

    def figure(self, results: Mapping[str, Result]) -> str:
        return ", ".join(limit.found(limit.value(results)) for limit in self.limits)

    def verdict(self, results: Mapping[str, Result]) -> Verdict:
        """Short when one figure is, whatever the others are; not measured when one is missing."""
        values = [(limit, limit.value(results)) for limit in self.limits]
        if any(value is not None and not limit.is_met(value) for limit, value in values):
            return "short"
        return "not measured" if any(value is None for _, value in values) else "ok"


BUDGETS: Sequence[Budget] = (
    Budget(
        "drift, 2,000 one-time jobs over 20 s, created ahead, local stack, ECS host",
        "p50 <= 5 ms, p99 <= 25 ms",
        (
            Limit("p50", "end_to_end.spread_drift_p50_ms", at_most=5, unit=" ms"),
            Limit("p99", "end_to_end.spread_drift_p99_ms", at_most=25, unit=" ms"),
        ),
    ),
    Budget(
        "drift, jobs created for now",
        "p99 <= 1.5 s",
        (Limit("p99", "end_to_end.now_drift_p99_ms", at_most=1_500, unit=" ms"),),
    ),
    Budget(
        "5,000 slots at one instant, 2 nodes, local stack",
        "0 lost, 0 early, last start <= 8 s (goal 3 s)",
        (
            Limit("lost", "end_to_end.herd_lost", at_most=0),
            Limit("early", "end_to_end.herd_early", at_most=0),
            Limit("last start", "end_to_end.herd_last_start_ms", at_most=8_000, unit=" ms"),
        ),
    ),
    Budget(
        "quick webhooks over 20 s beside 40 that never answer, one ECS worker",
        "p99 <= 50 ms, 0 lost",
        (
            Limit("p99", "slow_receivers.beside_drift_p99_ms", at_most=50, unit=" ms"),
            Limit("lost", "slow_receivers.beside_lost", at_most=0),
        ),
    ),
    Budget(
        "500 receivers that take 2 s, at one instant, one ECS worker",
        "last start <= 2 s, <= 250 MB, 0 lost",
        (
            Limit("last start", "slow_receivers.at_once_drift_max_ms", at_most=2_000, unit=" ms"),
            Limit("", "slow_receivers.at_once_mb", at_most=250, unit=" MB"),
            Limit("lost", "slow_receivers.at_once_lost", at_most=0),
        ),
    ),
    Budget(
        "dispatch by one node on one core, instant SQS stub",
        ">= 8,000 slots/s (goal 20,000)",
        (
            Limit("", "dispatch.slots_per_s", at_least=8_000, unit=" slots/s"),
            # Of a machine with neighbours this says more.
            Limit("for each second of CPU", "dispatch.slots_per_cpu_s"),
        ),
    ),
    Budget(
        "wheel at 1 M timers, ticks of 10 ms",
        ">= 0.5 M ops/s each of insert, cancel, expire; <= 200 B a timer; no step > 5 ms",
        (
            Limit("insert", "wheel.insert_per_s", at_least=500_000, unit="/s"),
            Limit("cancel", "wheel.cancel_per_s", at_least=500_000, unit="/s"),
            Limit("expire", "wheel.expire_per_s", at_least=500_000, unit="/s"),
            Limit("", "wheel.bytes_per_timer", at_most=200, unit=" B"),
            Limit("worst step", "wheel.step_ms", at_most=5, unit=" ms"),
            Limit("in a burst", "wheel.burst_step_ms", at_most=5, unit=" ms"),
        ),
    ),
    Budget(
        "DynamoDB and SQS per recurring run, period <= 6 h",
        "<= 2 WRU + 1 RRU, the scheduler's share 0; <= 0.3 SQS requests in full batches",
        (
            Limit("", "units.recurring_run_writes", at_most=2, unit=" WRU"),
            Limit("", "units.recurring_run_reads", at_most=1, unit=" RRU"),
            Limit("SQS", "units.recurring_run_sqs_requests", at_most=0.3),
        ),
    ),
    Budget(
        "DynamoDB per one-time job, create to finish",
        "<= 10 WRU (goal 7)",
        (Limit("", "units.one_time_job_writes", at_most=10, unit=" WRU"),),
    ),
    Budget(
        "fail-over after kill -9 of the owner",
        "all shards owned and late slots dispatched <= 8 s, 0 lost; SIGTERM <= 2 s",
        (
            Limit("owned and dispatched", "fail_over.recovered_ms", at_most=8_000, unit=" ms"),
            Limit("lost", "fail_over.lost", at_most=0),
            Limit("SIGTERM", "fail_over.drain_ms", at_most=2_000, unit=" ms"),
        ),
    ),
    Budget(
        "idle cost, default environment",
        "<= $45 a month",
        (Limit("$", "units.idle_usd_a_month", at_most=45),),
    ),
    Budget(
        "API Lambda import",
        "<= 800 ms CPU, SnapStart on",
        (
            Limit("import", "api.import_ms", at_most=800, unit=" ms"),
            Limit("with stores and routes", "api.cold_start_ms", at_most=800, unit=" ms"),
        ),
    ),
    Budget(
        "memory of a node",
        "<= 300 MB with 500,000 resident entries",
        (Limit("", "load.node_mb_at_500000", at_most=300, unit=" MB"),),
    ),
    Budget(
        "a node with a quarter of a core and 100,000 resident entries, which it loads again meanwhile",
        "a beat each 3 s, a plan each 1.5 s, slices <= 20 ms; p99 handed over <= 300 ms late, which is the lead",
        (
            Limit("beats", "quarter.beat_pause_ms_at_0.25", at_most=3_000, unit=" ms"),
            Limit("plans", "quarter.housekeeping_pause_ms_at_0.25", at_most=1_500, unit=" ms"),
            Limit("slice", "quarter.slice_ms_at_0.25", at_most=20, unit=" ms"),
            Limit("p99", "quarter.late_p99_ms_at_0.25", at_most=300, unit=" ms"),
        ),
    ),
    Budget(
        "a node with a core takes over 100,000 entries",
        "<= 4 s of CPU: with the silence before it, as long as a fail-over",
        (
            Limit("", "quarter.load_cpu_s_at_1", at_most=4, unit=" s of CPU"),
            # Of a machine with neighbours this says less.
            Limit("elapsed", "quarter.load_s_at_1", unit=" s"),
        ),
    ),
)
