"""PgQueuer: jobs in a table of PostgreSQL, taken by a worker that listens and polls."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import timedelta

import psycopg
from order import Order, answer, end, read_order, start_process, wait_for_starts
from pgqueuer.adapters.drivers.psycopg import PsycopgDriver
from pgqueuer.queries import Queries


async def submit(order: Order) -> tuple[int, float]:
    connection = await psycopg.AsyncConnection.connect(order.url, autocommit=True)
    queries = Queries(PsycopgDriver(connection))
    first_ms = order.first_ms()
    began = time.monotonic()
    for job, offset_ms in order.jobs:
        due_ms = first_ms + offset_ms
        payload = json.dumps([job, due_ms]).encode()
        await queries.enqueue("body", payload, execute_after=timedelta(seconds=due_ms / 1000 - time.time()))
    return first_ms, time.monotonic() - began


async def install(url: str) -> None:
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
    await Queries(PsycopgDriver(connection)).install()


order = read_order()
asyncio.run(install(order.url))
worker = start_process([sys.executable, "pgqueuer_worker.py"])
try:
    first_ms, submit_seconds = asyncio.run(submit(order))
    wait_for_starts(order, first_ms)
finally:
    end([worker])
answer(order, first_ms, submit_seconds)
