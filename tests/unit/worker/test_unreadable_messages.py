"""What nobody can read becomes a dead letter, and hurts no message beside it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shared.adapters.memory import MemoryDeadLetterQueue
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import MINUTE, SECOND
from shared.domain.run import RunStatus
from shared.ports import DeadLetter
from tests.unit.worker.workshop import Workshop


def test_a_message_of_a_later_version_waits_for_a_worker_that_can_read_it_and_is_a_dead_letter_after_minutes(
    shop: Workshop,
) -> None:
    shop.queue.send_body('{"v": 99}')
    executor = shop.executor()
    began = shop.clock.now()

    while len(shop.queue):
        assert shop.dead_letters.letters == []
        shop.claim(executor)
        shop.clock.advance(SECOND)

    assert 5 * MINUTE < shop.clock.now() - began < 15 * MINUTE
    assert [(letter.body, letter.cause) for letter in shop.dead_letters.letters] == [('{"v": 99}', "unreadable")]
    assert executor.counts["unreadable"] == 9
    assert executor.measured()["set_aside"] == 1


@pytest.mark.parametrize("body", ["not json", '{"v": 1}', '{"v": -3}', "[]", '{"v": 1, "job_key": "o/j", "slot": "x"}'])
def test_what_no_version_can_read_is_a_dead_letter_at_once_and_the_others_of_its_batch_run(
    shop: Workshop, body: str
) -> None:
    shop.queue.send_body(body)
    dispatch = shop.dispatch(shop.put_job())

    shop.run_all(shop.executor())

    assert [letter.body for letter in shop.dead_letters.letters] == [body]
    assert len(shop.queue) == 0
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_an_unreadable_message_stays_until_its_letter_is_sent(shop: Workshop) -> None:
    class Out(MemoryDeadLetterQueue):
        is_out = True

        def send(self, letters: Sequence[DeadLetter]) -> None:
            if self.is_out:
                raise OutcomeUnknown("send", "lost")
            super().send(letters)

    letters = Out()
    executor = shop.executor(dead_letters=letters)
    shop.queue.send_body("not json")
    shop.claim(executor)
    assert len(shop.queue) == 1

    letters.is_out = False
    shop.clock.advance(shop.settings.lease_ms)
    shop.claim(executor)

    assert len(letters.letters) == 1
    assert len(shop.queue) == 0
