"""Structured JSON logs. Every line has an `action`, the word of the act, and the ids it is about.

Payload, headers and output of a job never reach a log.
"""

from __future__ import annotations

from aws_lambda_powertools import Logger


def logger_for(service: str) -> Logger:
    """A deployable's logger: `logger_for("scheduler").info("took", extra={"action": "shard.take", "shard": 3})`."""
    return Logger(service=f"carillon-{service}", use_rfc3339=True, utc=True)
