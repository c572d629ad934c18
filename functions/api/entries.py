"""Entries as the API sees them. It has the job, and so knows what the entry says; it decodes none.

An entry that this release cannot read is set aside by the schedulers, by its name. Here it must not make its job
impossible to pause, to change or to explain.
"""

from __future__ import annotations

from dataclasses import replace

from functions.api.backend import Backend
from shared.domain.entry import Entry, entry_keys, entry_of, single_entry
from shared.domain.job import Job
from shared.domain.run import Run
from shared.domain.sharding import shard_of
from shared.ports.entry_store import StoredEntry


def entry_of_job(backend: Backend, job: Job) -> Entry | None:
    """The entry of this generation of the job, wherever it lies; None when it is gone."""
    # Where it was announced first: it may be parked meanwhile.
    found = map(backend.entries.get, entry_keys(job, shard_count=backend.shard_count))
    stored = next((each for each in found if each is not None), None)
    return None if stored is None else _as_stored(entry_of(job, shard_count=backend.shard_count), stored)


def entry_of_waiting(backend: Backend, run: Run, *, lane: str) -> Entry | None:
    """The single-fire entry that brings the run to a worker; None when it is gone."""
    entry = single_entry(run, shard=shard_of(run.job_key, backend.shard_count), lane=lane)
    stored = backend.entries.get(entry.key)
    return None if stored is None else _as_stored(entry, stored)


def _as_stored(entry: Entry, stored: StoredEntry) -> Entry:
    """Where it lies, and whether the watermark speaks for it, is what the schedulers change of an entry."""
    is_fresh = not (entry.is_single or stored.is_spoken_for)
    return replace(entry, entry_id=stored.entry_id, next_at=stored.next_at, fresh=is_fresh)
