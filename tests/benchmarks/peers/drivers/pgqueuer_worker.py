"""The process that runs the jobs of PgQueuer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from datetime import timedelta

import psycopg
from order import STYLE_VARIABLE, URL_VARIABLE, record
from pgqueuer import PgQueuer
from pgqueuer.models import Job

TUNED = {"dequeue_timeout": timedelta(seconds=0.1), "batch_size": 200}


async def main() -> None:
    connection = await psycopg.AsyncConnection.connect(os.environ[URL_VARIABLE], autocommit=True)
    queuer = PgQueuer.from_psycopg_connection(connection)

    @queuer.entrypoint("body")
    async def body(job: Job) -> None:
        record(*json.loads(job.payload or b"[]"))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, queuer.shutdown.set)
    await queuer.run(**(TUNED if os.environ[STYLE_VARIABLE] == "tuned" else {}))


asyncio.run(main())
