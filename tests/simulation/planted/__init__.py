"""Planted bugs: each takes one rule out of the real code, and the simulation must notice.

A bug that is never found is a fault that the world does not know.
"""

from __future__ import annotations

from tests.simulation.planted import api, scheduler, stores, watermark, worker
from tests.simulation.planted.mutant import Mutant, find, with_bug

#: Rules that hold the protocol up; bugs that the simulation found in the real code, put back; and more of our own.
REQUIRED = (*scheduler.REQUIRED, *watermark.REQUIRED, *stores.REQUIRED, *worker.REQUIRED, *api.REQUIRED)
FOUND = (*scheduler.FOUND, *watermark.FOUND, *worker.FOUND, *api.FOUND)
OWN = (*worker.OWN, *api.OWN)
MUTANTS = (*REQUIRED, *FOUND, *OWN)

__all__ = ["FOUND", "MUTANTS", "OWN", "REQUIRED", "Mutant", "find", "with_bug"]
