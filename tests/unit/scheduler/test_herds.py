"""A herd is dispatched by and by before its instant, so that it is claimed when its instant comes."""

from __future__ import annotations

from functions.scheduler.herds import HerdRules, Herds
from shared.domain.instants import MINUTE, SECOND, Instant

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
