from __future__ import annotations

from shared.adapters.dynamodb import access_rows, conditions, entry_rows, fleet_rows, job_rows, run_rows
from shared.adapters.dynamodb.conditions import names


def test_every_expression_names_attributes_of_the_codecs() -> None:
    known = {
        *job_rows.WRITTEN_ATTRIBUTES,
        job_rows.KEY,
        *(column.name for column in (*entry_rows.COLUMNS, *run_rows.COLUMNS)),
        entry_rows.PARTITION,
        entry_rows.SORT,
        entry_rows.NEXT_AT,
        run_rows.SORT,
        *(column.name for column in (*fleet_rows.LEASE_COLUMNS, *fleet_rows.CONTROL_COLUMNS)),
        fleet_rows.PARTITION,
        *(column.name for column in (*access_rows.KEY_COLUMNS, *access_rows.RECEIPT_COLUMNS)),
        access_rows.PARTITION,
        access_rows.KEY_IDS,
        access_rows.BOOKED_UNTIL,
        run_rows.FAILURE_SLICE,
        # Requests of an owner, counted by lots.
        "leased",
        # Stand for a kind of place, and for the run that takes one.
        "place",
        "run",
    }
    expressions = [value for name, value in vars(conditions).items() if name.isupper() and isinstance(value, str)]

    assert len(expressions) > 20
    assert set(names(*expressions).values()) - known == set()
