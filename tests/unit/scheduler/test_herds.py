"""A herd is dispatched by and by before its instant, so that it is claimed when its instant comes."""

from __future__ import annotations

from collections import Counter

from functions.scheduler.herds import HerdRules, Herds
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from tests.unit.scheduler.world import TIMING, World

NOW = Instant(1_800_000_000_000)
DUE = Instant(NOW + MINUTE)
RULES = HerdRules(most_ms=4_000, lanes=frozenset({"default"}), claims_per_second=1_000)


def test_each_slot_of_a_second_is_dispatched_earlier_than_the_one_before() -> None:
    herds = Herds(RULES)
    assert [herds.earlier_ms(DUE, "default", NOW) for _ in range(4)] == [0, 1, 2, 3]


def test_a_node_with_half_of_the_shards_counts_on_half_of_the_workers() -> None:
    herds = Herds(RULES, share=0.5)
    assert [herds.earlier_ms(DUE, "default", NOW) for _ in range(4)] == [0, 2, 4, 6]


def test_slots_of_other_seconds_are_another_herd() -> None:
    herds = Herds(RULES)
    herds.earlier_ms(DUE, "default", NOW)
    assert herds.earlier_ms(Instant(DUE + SECOND), "default", NOW) == 0


def test_no_slot_is_dispatched_earlier_than_its_worker_can_hold_it() -> None:
    herds = Herds(RULES)
    assert [herds.earlier_ms(DUE, "default", NOW) for _ in range(4_003)][-3:] == [4_000, 4_000, 4_000]


def test_a_lane_whose_workers_cannot_hold_runs_knows_no_herds() -> None:
    herds = Herds(RULES)
    assert [herds.earlier_ms(DUE, "long", NOW) for _ in range(3)] == [0, 0, 0]
    assert herds.earlier_ms(DUE, "default", NOW) == 0


def test_without_rules_the_lead_never_grows() -> None:
    herds = Herds()
    assert [herds.earlier_ms(DUE, "default", NOW) for _ in range(3)] == [0, 0, 0]


def test_what_has_passed_is_forgotten() -> None:
    herds = Herds(RULES)
    herds.earlier_ms(DUE, "default", NOW)
    herds.earlier_ms(Instant(DUE + SECOND), "default", Instant(DUE + SECOND))
    assert herds._waiting == {DUE // SECOND + 1: 1}


def herd(world: World, *, jobs: int, in_ms: int) -> Instant:
    """Created by now, and due then."""
    due = Instant(world.now + in_ms)
    for number in range(jobs):
        world.create(f"herd-{number}", at=to_rfc3339(due))
    return due


def test_a_herd_is_on_its_way_by_and_by_and_by_its_lead_at_the_latest() -> None:
    world = World()
    world.start_node("a", settings={"herds": HerdRules(most_ms=4_000, lanes={"default"}, claims_per_second=100)})
    world.run(2_000)
    due = herd(world, jobs=300, in_ms=30 * SECOND)
    sent = world.run(31 * SECOND)
    early = [due - each.enqueued_at for each in sent]
    assert Counter(each.job_key for each in sent).most_common(1)[0][1] == 1
    assert len(sent) == 300
    # Tens are filled for a third of the lead, and a step of this world is 50 ms.
    assert min(early) >= TIMING.lead_ms * 2 / 3 - 50
    assert 2_500 <= max(early) <= TIMING.lead_ms + 4_000
    by_second = Counter(each // SECOND for each in early)
    assert all(80 <= by_second[second] <= 120 for second in (1, 2))


def test_of_a_herd_where_nobody_can_hold_it_nothing_is_sent_before_the_lead() -> None:
    world = World()
    world.start_node("a", settings={"herds": HerdRules(most_ms=4_000, lanes={"long"}, claims_per_second=100)})
    world.run(2_000)
    due = herd(world, jobs=300, in_ms=30 * SECOND)
    sent = world.run(31 * SECOND)
    assert len(sent) == 300
    assert max(due - each.enqueued_at for each in sent) <= TIMING.lead_ms


def test_what_is_changed_after_it_was_looked_for_fires_as_it_is_now() -> None:
    world = World()
    world.start_node("a", settings={"herds": HerdRules(most_ms=4_000, lanes={"default"})})
    world.run(2_000)
    job = world.create("moved", at=to_rfc3339(Instant(world.now + 11 * SECOND)))
    world.run(6 * SECOND)
    later = Instant(world.now + 20 * SECOND)
    world.reschedule(job, at=to_rfc3339(later))
    assert [each.slot for each in world.run(30 * SECOND)] == [later]
