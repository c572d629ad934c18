"""What a job takes in memory while a run of it is held. A payload of 128 KB may take some megabytes once it is read."""

from __future__ import annotations

from sys import getsizeof

from shared.domain.job import Job

#: All of a job but what its owner may make large.
BYTES_OF_JOB = 4 * 1024


def bytes_of(job: Job) -> int:
    return BYTES_OF_JOB + _bytes_of(job.payload) + _bytes_of(job.target)


def _bytes_of(document: object) -> int:
    """Of a JSON document, with all that it holds. Keys and small numbers may be shared, and count each time."""
    total, left = 0, [document]
    while left:
        value = left.pop()
        total += getsizeof(value)
        match value:
            case dict():
                left.extend(value)
                left.extend(value.values())
            case list() | tuple():
                left.extend(value)
            case _:
                pass
    return total
