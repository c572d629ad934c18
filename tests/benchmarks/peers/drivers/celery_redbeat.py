"""Celery's beat with its schedule in Redis (redbeat), two of them, and a worker: for jobs that repeat."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

from order import answer, end, kill_in_time, read_order, start_process, wait_for_starts

order = read_order()
celery = [sys.executable, "-m", "celery", "-A", "celery_app"]
from celery_app import app  # noqa: E402 (needs the order's environment)
from redbeat import RedBeatSchedulerEntry  # noqa: E402

began = time.monotonic()
for job, _ in order.jobs:
    entry = RedBeatSchedulerEntry(job, "body", timedelta(seconds=1), args=(job, None), app=app)
    entry.save()
submit_seconds = time.monotonic() - began
beat = [*celery, "beat", "-S", "redbeat.RedBeatScheduler", "-l", "WARNING"]
started = [start_process([*beat, "--pidfile="])]
try:
    # The first one leads.
    time.sleep(4)
    started += [
        start_process([*beat, "--pidfile="]),
        start_process([*celery, "worker", "-c", "2", "-n", "one", "-l", "WARNING"]),
    ]
    first_ms = order.first_ms()
    killed_ms = kill_in_time(order, first_ms, started[0])
    until = first_ms / 1000 + order.seconds + order.patience_seconds
    while killed_ms is None and time.time() < first_ms / 1000 + order.seconds:
        time.sleep(0.2)
    if killed_ms is not None:
        wait_for_starts(order, first_ms)
finally:
    end(started)
answer(order, first_ms, submit_seconds, killed_ms=killed_ms)
