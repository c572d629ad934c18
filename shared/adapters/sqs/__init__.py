"""The lanes in SQS."""

from shared.adapters.sqs.due_queue import SqsDueQueue

__all__ = ["SqsDueQueue"]
