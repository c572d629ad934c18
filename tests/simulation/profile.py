"""What kind of run a seed gives: how large the fleet is, and which faults it meets how often."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from shared.domain.instants import DAY, HOUR, SECOND

OPERATIONS = (
    "fleet.checkpoint", "fleet.checkpoint", "fleet.beat", "fleet.snapshot", "fleet.take", "entries.read",
    "entries.clear_fresh", "entries.move", "entries.delete", "lane.send", "lane.send", "lane.hide", "runs.insert",
    "runs.finish", "runs.postpone", "runs.plan", "runs.heartbeat", "runs.take_over", "jobs.get_many", "jobs.write",
    "jobs.complete",
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
    pauses: bool = False
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
    #: Chance that a worker's target fails, hangs or takes long.
    slow_runs: float = 0.1
    #: A silence of about a day in the middle, with few fires around it.
    silence_ms: int = 0
    #: Once every call is answered well, no fire may be later than the fail-over bound.
    is_calm: bool = False

    @property
    def grace_ms(self) -> int:
        """How late a slot may be when a change of its job overtakes it, so that it need not be fired at all."""
        if self.is_calm:
            return 12 * SECOND
        late_ms = 15 * SECOND + 2 * max(self.skew_ms, self.node_skew_ms)
        return late_ms + 120 * SECOND * (self.outages or self.partitions or self.pauses or self.brake) + 30 * SECOND


def profile_of(random: Random) -> Profile:
    """One of a few families, each with its own dice."""
    profile = replace(_family(random), audits=random.random() < 0.5)
    if profile.focus or not profile.faulty or random.random() > 0.4:
        return profile
    return replace(profile, focus=frozenset(random.sample(OPERATIONS, random.randint(1, 2))))


def _family(random: Random) -> Profile:
    kind = random.random()
    return next(family for until, family in _FAMILIES if kind < until)(random)


def _one_failure(random: Random) -> Profile:
    """Healthy stores and clocks, and one failure at a time: I6 holds to the second."""
    return Profile(
        duration_ms=random.randint(60, 140) * SECOND,
        nodes=random.randint(2, 4),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(3, 8),
        slow=random.choice([0.0, 0.05]),
        trouble_ms=35 * SECOND,
        kills=True,
        pauses=random.random() < 0.5,
        resizes=random.random() < 0.5,
        upgrades=random.random() < 0.5,
        duplicated=0.05,
        slow_runs=0.2,
        is_calm=True,
    )


def _wild_api(random: Random) -> Profile:
    """The fleet is well, while API hosts have bad clocks and commit late."""
    return Profile(
        duration_ms=random.randint(60, 150) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(4, 10),
        api_rate=0.4,
        slow=0.02,
        skew_ms=45 * SECOND,
        slow_commits=0.5,
        is_calm=True,
        silence_ms=random.choice([0, 0, 6 * 60 * SECOND, 2 * HOUR]),
        duplicated=random.choice([0.0, 0.1]),
    )


def _lost_answers(random: Random) -> Profile:
    """Nobody dies, but calls are answered wrongly, late or not at all, and entries come late."""
    return Profile(
        duration_ms=random.randint(60, 120) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(4, 12),
        api_rate=random.choice([0.3, 0.8]),
        slow=random.choice([0.1, 0.3]),
        faulty=random.choice([0.02, 0.05, 0.1, 0.2]),
        skew_ms=random.choice([0, 45 * SECOND]),
        slow_commits=random.choice([0.0, 0.5]),
        duplicated=0.1,
        delayed=0.1,
        unsent=random.choice([0.0, 0.3, 0.7]),
        refused=random.choice([0.0, 0.02]),
    )


def _late_entries(random: Random) -> Profile:
    """What a lost or slow checkpoint may harm: entries that come late, and whose slots are not sent at once."""
    return Profile(
        duration_ms=random.randint(50, 100) * SECOND,
        nodes=random.randint(1, 2),
        jobs=random.randint(8, 14),
        api_rate=2.0,
        slow=0.2,
        faulty=0.05,
        focus=frozenset(random.choice([("fleet.checkpoint",), ("fleet.checkpoint", "lane.send")])),
        skew_ms=random.choice([3, 45]) * SECOND,
        slow_commits=0.5,
        unsent=0.7,
    )


def _outages(random: Random) -> Profile:
    """A healthy fleet whose table or queues are out now and then: afterwards nobody looks dead."""
    return Profile(
        duration_ms=random.randint(80, 140) * SECOND,
        nodes=random.randint(2, 4),
        shards=4,
        jobs=random.randint(3, 7),
        slow=0.05,
        trouble_ms=random.choice([20, 35]) * SECOND,
        outages=True,
        brake=random.random() < 0.2,
    )


def _silence(random: Random) -> Profile:
    """A burst, then nothing for hours, then a burst: owners live long, and watermarks grow old."""
    return Profile(
        duration_ms=random.randint(40, 100) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(4, 8),
        slow=0.05,
        faulty=random.choice([0.0, 0.03]),
        trouble_ms=random.choice([0, 15 * SECOND, 30 * SECOND]),
        kills=True,
        pauses=True,
        partitions=random.random() < 0.5,
        outages=random.random() < 0.3,
        skew_ms=random.choice([0, 45 * SECOND]),
        node_skew_ms=random.choice([0, 0, 45 * SECOND]),
        duplicated=0.2,
        delayed=0.2,
        longest_delay_ms=random.choice([20 * SECOND, 30 * HOUR]),
        unsent=random.choice([0.0, 0.1]),
        slow_commits=random.choice([0.0, 0.3]),
        silence_ms=random.choice([HOUR, 7 * HOUR, DAY]),
    )


def _crowded(random: Random) -> Profile:
    """Nodes whose memory is full, so that entries come and go, while shards change hands."""
    return Profile(
        duration_ms=random.randint(80, 140) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 2, 4]),
        jobs=random.randint(8, 14),
        most_residents=random.randint(2, 8),
        api_rate=random.choice([0.3, 1.0]),
        slow=random.choice([0.05, 0.2]),
        faulty=random.choice([0.0, 0.0, 0.05]),
        trouble_ms=random.choice([0, 10, 25]) * SECOND,
        kills=True,
        pauses=random.random() < 0.5,
        resizes=True,
        skew_ms=random.choice([0, 45 * SECOND]),
        slow_commits=random.choice([0.0, 0.3]),
        unsent=random.choice([0.0, 0.3]),
    )


def _storm(random: Random) -> Profile:
    """Everything at once."""
    skew_ms = random.choice([0, 2 * SECOND, 45 * SECOND])
    return Profile(
        duration_ms=random.randint(60, 160) * SECOND,
        nodes=random.randint(2, 4),
        shards=random.choice([1, 1, 2, 4]),
        workers=random.randint(1, 3),
        jobs=random.randint(3, 9),
        api_rate=random.choice([0.1, 0.3, 0.6]),
        slow=random.choice([0.02, 0.1, 0.2]),
        faulty=random.choice([0.0, 0.02, 0.05, 0.15]),
        trouble_ms=random.choice([5, 10, 20]) * SECOND,
        kills=random.random() < 0.8,
        pauses=random.random() < 0.8,
        partitions=random.random() < 0.5,
        outages=random.random() < 0.4,
        brake=random.random() < 0.15,
        resizes=random.random() < 0.5,
        upgrades=random.random() < 0.5,
        skew_ms=skew_ms,
        node_skew_ms=random.choice([0, skew_ms]),
        clock_steps=random.random() < 0.5,
        slow_commits=random.choice([0.0, 0.2, 0.5]),
        duplicated=random.choice([0.0, 0.1, 0.3]),
        delayed=random.choice([0.0, 0.1, 0.3]),
        unsent=random.choice([0.0, 0.1, 0.4]),
        refused=random.choice([0.0, 0.0, 0.03]),
        purged=random.choice([0.0, 0.0, 0.01]),
        slow_runs=random.choice([0.05, 0.3]),
    )


#: With the share of worlds up to and including each.
_FAMILIES = (
    (0.15, _one_failure),
    (0.28, _wild_api),
    (0.40, _lost_answers),
    (0.48, _late_entries),
    (0.53, _outages),
    (0.67, _silence),
    (0.76, _crowded),
    (1.00, _storm),
)
