from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledgements import acknowledge
from shared.schema import DEAD_LETTER_RETENTION_DAYS, LANE_RETENTION_DAYS, MAX_RECEIVE_COUNT

#: AWS asks for at least six times the function's time-out, or a throttled batch comes again while it still runs.
VISIBILITY_IN_TIMEOUTS = 6


class Lane(Construct):
    """A queue of dispatches, and the dead letters that workers and `Undelivered` leave for people to see."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        worker_timeout: Duration,
        undelivered: sqs.IQueue,
        requires_tls: bool,
        key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        encryption = sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            retention_period=Duration.days(DEAD_LETTER_RETENTION_DAYS),
            encryption=encryption,
            encryption_master_key=key,
            enforce_ssl=requires_tls,
        )
        acknowledge(
            self.dead_letters,
            "AwsSolutions-SQS3",
            "It is where copies of failed dispatches rest until people have seen them: nothing receives from it",
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            retention_period=Duration.days(LANE_RETENTION_DAYS),
            visibility_timeout=Duration.seconds(VISIBILITY_IN_TIMEOUTS * int(worker_timeout.to_seconds())),
            encryption=encryption,
            encryption_master_key=key,
            enforce_ssl=requires_tls,
            dead_letter_queue=sqs.DeadLetterQueue(queue=undelivered, max_receive_count=MAX_RECEIVE_COUNT),
        )
