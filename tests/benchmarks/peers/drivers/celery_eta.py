"""Celery: one task per slot, with its eta; the worker holds it until then."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

from order import answer, end, kill_in_time, read_order, start_process, wait_for_starts

order = read_order()
workers = [
    start_process(
        [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "-c", concurrency, "-n", name, "-l", "WARNING"]
    )
    # Two workers where one is killed, else one with two processes.
    for name, concurrency in ([("one", "1"), ("two", "1")] if order.kill_after_seconds else [("one", "2")])
]
try:
    from celery_app import body

    first_ms = order.first_ms()
    began = time.monotonic()
    for job, offset_ms in order.jobs:
        for second in range(order.seconds if order.repeats else 1):
            due_ms = first_ms + offset_ms + second * 1000
            body.apply_async((job, due_ms), eta=datetime.fromtimestamp(due_ms / 1000, UTC))
    submit_seconds = time.monotonic() - began
    killed_ms = kill_in_time(order, first_ms, workers[0])
    wait_for_starts(order, first_ms)
finally:
    end(workers)
answer(order, first_ms, submit_seconds, killed_ms=killed_ms)
