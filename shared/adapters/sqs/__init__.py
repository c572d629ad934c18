"""The lanes in SQS."""

from shared.adapters.sqs.dead_letter_queue import SqsDeadLetterQueue
from shared.adapters.sqs.due_queue import SqsDueQueue

__all__ = ["SqsDeadLetterQueue", "SqsDueQueue"]
