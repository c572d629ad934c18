"""The application that Celery's workers and beats import."""

from __future__ import annotations

import os

from celery import Celery
from order import STYLE_VARIABLE, URL_VARIABLE, record

url = os.environ[URL_VARIABLE]
is_tuned = os.environ[STYLE_VARIABLE] == "tuned"

app = Celery("bench", broker=url)
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True, redbeat_redis_url=url)
if is_tuned:
    app.conf.update(
        # What a dead worker held comes back after this. An eta further ahead than it would run several times.
        broker_transport_options={
            "visibility_timeout": 60,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
        },
        redbeat_lock_timeout=10,
        beat_max_loop_interval=2,
    )


@app.task(name="body")
def body(job: str, due_ms: int | None) -> None:
    record(job, due_ms)
