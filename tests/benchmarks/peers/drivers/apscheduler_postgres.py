"""APScheduler with its jobs in PostgreSQL, in one process. Without `misfire_grace_time=None` it drops what is late."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from order import answer, own_cpu_seconds, read_order, record, wait_for_starts

THREADS = 10

logging.basicConfig(level=logging.ERROR)
order = read_order()
scheduler = BackgroundScheduler(
    jobstores={"default": SQLAlchemyJobStore(url=order.url)},
    executors={"default": ThreadPoolExecutor(THREADS)},
    job_defaults={"misfire_grace_time": None, "coalesce": False, "max_instances": 100}
    if order.style == "tuned"
    else {},
    timezone=UTC,
)
first_ms = order.first_ms()
began = time.monotonic()
scheduler.start()
for job, offset_ms in order.jobs:
    due_ms = first_ms + offset_ms
    due = datetime.fromtimestamp(due_ms / 1000, UTC)
    if order.repeats:
        end = due + timedelta(seconds=order.seconds - 0.5)
        scheduler.add_job(record, "interval", (job, None), seconds=1, start_date=due, end_date=end, id=job)
    else:
        scheduler.add_job(record, "date", (job, due_ms), run_date=due, id=job)
submit_seconds = time.monotonic() - began
submitted = own_cpu_seconds()
wait_for_starts(order, first_ms)
scheduler.shutdown()
answer(order, first_ms, submit_seconds, cpu_seconds=own_cpu_seconds() - submitted)
