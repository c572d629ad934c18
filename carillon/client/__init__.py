"""The HTTPS API as Python methods.

    from carillon.client import Client, cron, in_

    with Client("https://...", "crl_...") as carillon:
        carillon.create_job(
            job_id="nightly-report",
            schedule=cron("30 2 * * MON-FRI", timezone="Europe/Berlin"),
            target={"type": "http", "url": "https://example.com/hook"},
        )
        run = carillon.run_now("nightly-report")
        print(carillon.wait_for_run("nightly-report", run["run_id"])["status"])

Answers are the API's own JSON, typed by TypedDicts: what a newer API adds is there without a newer client. Wherever a
request takes an instant or a duration, `datetime` and `timedelta` will do. Whatever says no is raised: `errors`.
"""

from carillon.client import errors
from carillon.client.access_documents import Grant, Key, NewKey, NewSigningKey, SigningKey
from carillon.client.client import Client
from carillon.client.errors import CarillonError, NoAnswer, NotEnded, Problem
from carillon.client.fleet_documents import Fleet, Health, OwnerErasure
from carillon.client.job_documents import (
    BatchItem,
    BulkItem,
    Cancellation,
    Job,
    JobChanges,
    JobDefinition,
    ListedJob,
    NewJob,
)
from carillon.client.run_documents import Backfill, Explanation, PreviewedSlot, Redrive, Run
from carillon.client.schedules import Schedule, at, cron, every, in_

__all__ = [
    "Backfill",
    "BatchItem",
    "BulkItem",
    "Cancellation",
    "CarillonError",
    "Client",
    "Explanation",
    "Fleet",
    "Grant",
    "Health",
    "Job",
    "JobChanges",
    "JobDefinition",
    "Key",
    "ListedJob",
    "NewJob",
    "NewKey",
    "NewSigningKey",
    "NoAnswer",
    "NotEnded",
    "OwnerErasure",
    "PreviewedSlot",
    "Problem",
    "Redrive",
    "Run",
    "Schedule",
    "SigningKey",
    "at",
    "cron",
    "errors",
    "every",
    "in_",
]
