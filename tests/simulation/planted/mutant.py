"""A planted bug, and the search for a world that notices it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from functions.worker.settings import WorkerSettings
from tests.simulation import world as world_module
from tests.simulation.families import profile_of
from tests.simulation.profile import Profile
from tests.simulation.script import simulate
from tests.simulation.world import Result, dice_of

Plant = Callable[[ExitStack], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`rule` is what the real code observes and this one does not. `worlds` says where it can matter at all; the others
    are not tried.
    """

    name: str
    rule: str
    plant: Plant
    worlds: Callable[[Profile], bool] = lambda _: True
    #: All of its worlds are of this one; None: as seeds draw them.
    family: str | None = None

    def may_matter(self, seed: int) -> bool:
        return self.worlds(profile_of(dice_of(seed, self.family), self.family))

    def simulate(self, seed: int) -> Result:
        return simulate(seed, family=self.family)


@contextmanager
def with_bug(mutant: Mutant) -> Iterator[None]:
    with ExitStack() as stack:
        mutant.plant(stack)
        yield


def find(mutant: Mutant, seeds: Iterable[int]) -> Result | None:
    """The first run that breaks an invariant under the planted bug.

    Of a family by name, one that breaks none without the bug: it may be one of those that seeds do not draw yet.
    """
    for seed in filter(mutant.may_matter, seeds):
        with with_bug(mutant):
            result = mutant.simulate(seed)
        if result.violations and (mutant.family is None or not mutant.simulate(seed).violations):
            return result
    return None


def instead(target: Any, name: str, value: Any) -> Plant:
    """`value` takes the place of the attribute."""

    def plant(stack: ExitStack) -> None:
        stack.enter_context(patch.object(target, name, value))

    return plant


def worker_settings(**changes: Any) -> Plant:
    return instead(world_module, "WorkerSettings", lambda **given: WorkerSettings(**given | changes))
