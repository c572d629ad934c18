"""Planted bugs: each takes one rule out of the real code, and the simulation must notice.

A bug that is never found is a fault that the world does not know.
"""

from __future__ import annotations

from tests.simulation.planted import (
    api,
    claims,
    isolation,
    mended_api,
    mended_ends,
    mended_nodes,
    mended_slots,
    mended_workers,
    scheduler,
    stores,
    watermark,
    worker,
)
from tests.simulation.planted.mutant import Mutant, find, with_bug

#: Rules that hold the protocol up; bugs that the simulation found in the real code, put back; bugs that were found by
#: other means, put back; and more of our own.
REQUIRED = (*scheduler.REQUIRED, *watermark.REQUIRED, *stores.REQUIRED, *worker.REQUIRED, *api.REQUIRED)
FOUND = (*scheduler.FOUND, *watermark.FOUND, *worker.FOUND)
MENDED = (
    *isolation.MENDED,
    *mended_api.MENDED,
    *mended_ends.MENDED,
    *mended_nodes.MENDED,
    *mended_slots.MENDED,
    *mended_workers.MENDED,
)
OWN = (*worker.OWN, *api.OWN, *claims.OWN, *watermark.OWN)
MUTANTS = (*REQUIRED, *FOUND, *MENDED, *OWN)

__all__ = ["FOUND", "MENDED", "MUTANTS", "OWN", "REQUIRED", "Mutant", "find", "with_bug"]
