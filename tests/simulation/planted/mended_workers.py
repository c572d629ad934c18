"""Faults of workers that were found by other means, mended, and planted again."""

from __future__ import annotations

from typing import Any

from functions.worker import reading, receivers
from functions.worker.crews import Crews
from functions.worker.live_runs import LiveRuns
from functions.worker.reading import Reading
from functions.worker.starting import Starts
from shared.domain import overlap
from shared.domain.instants import SECOND
from tests.simulation.planted.mutant import Mutant, instead


def _is_early_once(self: Starts, live: Any, now: Any) -> bool:
    """Asked again, after the place was taken, it says no."""
    if live.holds:
        return False
    return _IS_EARLY(self, live, now)


_IS_EARLY = Starts._is_early

#: So often would all look that wait, however long they do: their messages never become entries.
_OFTEN_MS = 30 * SECOND


MENDED = (
    Mutant(
        "waits_in_flight",
        "what waits for long is an entry, and not a message in flight",
        instead(overlap, "LONGEST_LOOK_MS", _OFTEN_MS),
        family="owners_at_their_maximum",
    ),
    Mutant(
        "receiver_takes_all",
        "a host that an owner calls has a quarter of a worker's webhooks at most",
        instead(receivers, "may_take", lambda **given: given["free"] > 0),
        family="slow_receivers",
    ),
    Mutant(
        "answer_forgotten",
        "an answer that is there is taken, and a receiver's place is given on",
        instead(Crews, "_await", lambda *_: None),
        family="slow_receivers",
    ),
    Mutant(
        "early_after_place",
        "after a place was taken, which may take its time, fire_at is looked at again",
        instead(Starts, "_is_early", _is_early_once),
        family="slow_places",
    ),
    Mutant(
        "stale_definition",
        "a run starts with what was read a second ago at most",
        instead(Reading, "is_fresh", lambda *_: True),
        family="few_threads",
    ),
    Mutant(
        "handed_back_begun",
        "what has begun is not handed back, nor ended as if it had not",
        instead(LiveRuns, "end_unstarted", LiveRuns.end),
        family="preempted_stops",
    ),
    Mutant(
        "begun_is_skipped",
        "what an attempt has started goes on, though its slot is left out meanwhile",
        instead(reading, "goes_on", lambda *_, **__: False),
        family="workers_come_and_go",
    ),
)
