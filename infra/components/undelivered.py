from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import bundle
from infra.components.python_function import PythonFunction
from infra.settings import Environment
from shared.schema import DEAD_LETTER_RETENTION_DAYS

TIMEOUT = Duration.seconds(30)
VISIBILITY_IN_TIMEOUTS = 6
MEMORY_MB = 256
BATCH = 10
#: AWS asks for at least two.
CONCURRENCY = 2


class Undelivered(Construct):
    """What the lanes' queues gave up, of all of them, and the function that settles it."""

    def __init__(self, scope: Construct, construct_id: str, *, requires_tls: bool, key: kms.IKey | None = None) -> None:
        super().__init__(scope, construct_id)
        self.queue = sqs.Queue(
            self,
            "Queue",
            retention_period=Duration.days(DEAD_LETTER_RETENTION_DAYS),
            visibility_timeout=Duration.seconds(VISIBILITY_IN_TIMEOUTS * int(TIMEOUT.to_seconds())),
            encryption=sqs.QueueEncryption.KMS if key else sqs.QueueEncryption.SQS_MANAGED,
            encryption_master_key=key,
            enforce_ssl=requires_tls,
        )

    def settle(self, *, variables: Mapping[str, str], environment: Environment) -> PythonFunction:
        """Adds the function."""
        settling = PythonFunction(
            self,
            "Settling",
            source=bundle.DEAD_LETTERS,
            handler="functions.dead_letters.handler.handler",
            variables=variables,
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            environment=environment,
        )
        settling.function.add_event_source(
            event_sources.SqsEventSource(
                self.queue, batch_size=BATCH, max_concurrency=CONCURRENCY, report_batch_item_failures=True
            )
        )
        return settling
