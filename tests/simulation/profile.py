"""What a world is like: how large the fleet is, and which faults it meets how often."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.instants import SECOND

OPERATIONS = (
    "fleet.checkpoint", "fleet.checkpoint", "fleet.beat", "fleet.snapshot", "fleet.take", "entries.read",
    "entries.clear_fresh", "entries.move", "entries.delete", "lane.send", "lane.send", "lane.hide", "runs.insert",
    "runs.finish", "runs.postpone", "runs.plan", "runs.heartbeat", "runs.take_over", "jobs.get_many", "jobs.write",
    "jobs.complete",
)  # fmt: skip

#: Of the API, as a storm asks for them.
CALLS = (
    "create", "create", "reschedule", "payload", "pause", "resume", "delete", "recreate",
    "run_now", "run_again", "cancel_run",
)  # fmt: skip

#: Everything that it can be asked for.
CHANGES = (
    "create", "create", "create", "reschedule", "member", "member", "member", "member", "put", "put_again", "pause",
    "resume", "pause_and_resume", "delete", "recreate", "recreate", "erase", "bulk", "backfill", "redrive", "run_now",
    "run_again", "cancel_run", "repeat", "repeat",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    #: Seconds of life with faults.
    duration_ms: int
    nodes: int = 3
    #: Few, so that entries meet in one.
    shards: int = 1
    workers: int = 2
    jobs: int = 6
    #: What fits into a node's memory; with so little of it, loads and stays are short too. None: everything fits.
    most_residents: int | None = None
    #: In the end: for what does not fit is not fired in time.
    gets_more_memory: bool = False
    #: API calls per second.
    api_rate: float = 0.15
    audits: bool = False
    #: Chance that a run changes its own job.
    own_changes: float = 0.03
    #: Chance that one call of a port is slow, or goes wrong.
    slow: float = 0.05
    faulty: float = 0.0
    #: Operations that go wrong every other time: faults that must meet are made to meet.
    focus: frozenset[str] = frozenset()
    #: A bad event (kill, pause, partition, outage, ...) comes every so often.
    trouble_ms: int = 0
    kills: bool = False
    #: Nodes are spared.
    is_of_workers: bool = False
    pauses: bool = False
    pauses_ms: tuple[int, ...] = (500, 2_500, 3_500, 6_000, 15_000, 40_000)
    partitions: bool = False
    outages: bool = False
    brake: bool = False
    resizes: bool = False
    #: A rolling deploy brings the next version, so that both work side by side.
    upgrades: bool = False
    #: Largest error of a host's wall clock.
    skew_ms: int = 0
    node_skew_ms: int = 0
    clock_steps: bool = False
    #: Chance that an API write commits late, up to the API's time-out.
    slow_commits: float = 0.0
    #: Chances per message.
    duplicated: float = 0.0
    delayed: float = 0.0
    longest_delay_ms: int = 20 * SECOND
    unsent: float = 0.0
    refused: float = 0.0
    purged: float = 0.0
    #: Chance that a worker's target fails, hangs or takes long; and how long.
    slow_runs: float = 0.1
    run_times_ms: tuple[int, ...] = (500, 5_000, 20_000, 45_000, 70_000)
    #: Chance that a handler reports what no row can hold.
    odd_reports: float = 0.0
    #: Chance that a call fails as no adapter knows it.
    odd: float = 0.0
    #: Of these calls only; none: of all.
    odd_calls: frozenset[str] = frozenset()
    #: Calls of a node to its queues at once.
    senders: int = 16
    #: Handlers at once, per lane of a worker; chance that a thread cannot be started.
    threads: int = 16
    unstarted_threads: float = 0.0
    #: Chance that a job calls a receiver that holds no thread, and how many are waited for at once.
    webhooks: float = 0.0
    places: int = 500
    #: How far workers take clocks to differ; None: as they do by default.
    clock_bound_ms: int | None = None
    #: So many runs fit into the answer that is stored of a DELETE; None: as many as in truth.
    most_named: int | None = None
    #: Now and then the table takes no more rows of a job; chance that it does not say what became of one row.
    full_jobs: bool = False
    unanswered_rows: float = 0.0
    #: Chance of a write that this release cannot read, as an entry or as a job.
    unreadable: float = 0.0
    #: Chance that a thread of a worker loses the processor where it looks at the clock.
    preempted: float = 0.0
    #: Workers are told to go, and others come.
    worker_stops: bool = False
    #: Runs of an owner at once.
    owner_maximum: int | None = None
    #: Lanes are worked by functions; for how long one may run, and its messages are hidden.
    functions: bool = False
    function_ms: int = 60 * SECOND
    mapped_visibility_seconds: int = 5_400
    #: So often may a message be received.
    most_receives: int = 100
    #: Chance that a message is as old as a queue keeps any, but for seconds.
    aged: float = 0.0
    #: The clock of a node is ahead for some seconds; queues are away for minutes.
    clock_leaps: bool = False
    long_outages: bool = False
    #: Slots that wait in a node for each of its lanes; None: as many as by default.
    most_waiting: int | None = None
    #: A function settles what the queues give up.
    settles: bool = False
    #: What callers ask for.
    calls: tuple[str, ...] = CALLS
    #: Chance that a job has a window, and that its runs exclude or limit each other.
    windowed: float = 0.2
    one_time: float = 0.3
    #: That a job which fires often has a `max_runs`.
    limited: float = 0.2
    #: Of one of these is a patch; empty: of any member.
    members: tuple[str, ...] = ()
    #: All recurring jobs fire at the same instants.
    herded: bool = False
    overlapping: float = 0.2
    #: The newest rules are judged, and reads by the second.
    is_strict: bool = False
    is_prompt: bool = False
    #: A silence of about a day in the middle, with few fires around it.
    silence_ms: int = 0
    #: Once every call is answered well, no fire may be later than the fail-over bound.
    is_calm: bool = False

    @property
    def spares_workers(self) -> bool:
        """None dies, sleeps, or is cut off, nor is told to go while its claims go wrong."""
        harms = self.kills or self.pauses or self.partitions or self.outages or self.long_outages or self.purged
        is_hurried = self.worker_stops and self.focus
        return not (harms or is_hurried or self.clock_steps or self.functions or self.odd or self.aged)

    @property
    def grace_ms(self) -> int:
        """How late a slot may be when a change of its job overtakes it, so that it need not be fired at all."""
        if self.is_calm:
            return 12 * SECOND
        late_ms = 15 * SECOND + 2 * max(self.skew_ms, self.node_skew_ms)
        late_ms += 120 * SECOND * (self.outages or self.partitions or self.pauses or self.brake)
        return late_ms + 180 * SECOND * self.long_outages + 30 * SECOND
