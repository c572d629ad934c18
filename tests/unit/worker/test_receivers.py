"""Places among the receivers of a lane: no receiver takes many, and some are left for who comes next."""

from __future__ import annotations

import pytest

from functions.worker.live_run import LiveRun, Receiver
from functions.worker.receivers import Receivers
from tests.unit.worker.workshop import Workshop

SLOW, OTHER = ("owner", "slow.example"), ("owner", "other.example")


class Line:
    """Runs that come and go, one after the other."""

    def __init__(self, shop: Workshop, places: int) -> None:
        self.receivers = Receivers(places)
        self._shop = shop
        self._executor = shop.executor()
        self._count = 0

    def run(self) -> LiveRun:
        self._count += 1
        self._shop.dispatch(self._shop.put_job(f"job-{self._count}"))
        [live] = self._shop.claim(self._executor)
        return live

    def come(self, receiver: Receiver, count: int, *, at: float = 0) -> tuple[list[LiveRun], list[LiveRun]]:
        """Those that have a place at once, and those that wait."""
        seated: list[LiveRun] = []
        waiting: list[LiveRun] = []
        for _ in range(count):
            live = self.run()
            (seated if self.receivers.take(live, receiver, at) else waiting).append(live)
        return seated, waiting


@pytest.mark.parametrize("places", [1, 2, 4, 16, 100])
def test_a_receiver_takes_a_quarter_of_the_places_at_most(shop: Workshop, places: int) -> None:
    seated, _ = Line(shop, places).come(SLOW, places)

    assert len(seated) == max(places // 4, 1)


def test_of_receivers_that_hang_beside_each_other_each_leaves_places_to_the_next(shop: Workshop) -> None:
    line = Line(shop, 60)
    hanging = [len(line.come(("owner", f"host-{number}"), 20)[0]) for number in range(6)]

    assert hanging == [15, 12, 9, 6, 5, 4]
    assert len(line.come(OTHER, 1)[0]) == 1


def test_one_run_of_each_receiver_may_take_the_last_place(shop: Workshop) -> None:
    line = Line(shop, 5)
    for number in range(5):
        assert len(line.come(("owner", f"host-{number}"), 1)[0]) == 1

    assert line.receivers.free == 0
    assert line.come(OTHER, 1)[0] == []


def test_the_same_host_is_another_receiver_for_another_owner(shop: Workshop) -> None:
    line = Line(shop, 16)
    line.come(SLOW, 16)

    assert len(line.come(("other", SLOW[1]), 1)[0]) == 1


def test_who_leaves_gives_its_place_to_the_first_in_its_line(shop: Workshop) -> None:
    line = Line(shop, 8)
    seated, waiting = line.come(SLOW, 5)

    assert line.receivers.leave(seated[0]) == waiting[:1]
    # It keeps its place while it is on its way to a thread, and nobody overtakes it.
    assert line.receivers.take(waiting[0], SLOW, 0)
    assert line.come(SLOW, 1)[0] == []
    assert line.receivers.leave(seated[0]) == []
    assert (line.receivers.seated, line.receivers.waiting) == (2, 3)


def test_receivers_whose_runs_wait_take_turns(shop: Workshop) -> None:
    line = Line(shop, 4)
    others = [line.come(("owner", f"host-{number}"), 1)[0][0] for number in range(4)]
    _, slow = line.come(SLOW, 3)
    _, other = line.come(OTHER, 1)

    assert line.receivers.leave(others[0]) == slow[:1]
    assert line.receivers.leave(slow[0]) == other


def test_who_leaves_its_line_is_not_given_a_place(shop: Workshop) -> None:
    line = Line(shop, 4)
    seated, waiting = line.come(SLOW, 3)
    assert line.receivers.leave(waiting[0]) == []

    assert line.receivers.leave(seated[0]) == waiting[1:]


def test_who_waited_long_is_to_leave_and_so_are_the_first_of_too_many(shop: Workshop) -> None:
    line = Line(shop, 4)
    _, early = line.come(SLOW, 3, at=10)
    _, late = line.come(SLOW, 2, at=20)

    assert line.receivers.impatient(since=9, most=9) == []
    assert line.receivers.impatient(since=10, most=9) == early
    assert line.receivers.impatient(since=9, most=3) == early[:1]
    assert line.receivers.impatient(since=20, most=9) == early + late
