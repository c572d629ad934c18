"""The tables in DynamoDB.

    *_store       the ports                          conditions   every expression, by name
    *_rows        one codec per table                columns, attributes   what codecs are made of
    statements    writes that succeed alone          batches, queries, owner_listing   how much is read at once
    held_runs, run_plans, job_holds, receipts        parts of the stores

Stores take a client (`shared.adapters.aws.client`), the physical table names, a clock and dice for their pauses.
"""

from shared.adapters.dynamodb.access_store import DynamoAccessStore
from shared.adapters.dynamodb.entry_store import DynamoEntryStore
from shared.adapters.dynamodb.fleet_store import DynamoFleetStore
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore

__all__ = ["DynamoAccessStore", "DynamoEntryStore", "DynamoFleetStore", "DynamoJobStore", "DynamoRunStore"]
