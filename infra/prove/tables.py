"""The proof of the stores: the exercises, and whether every shape of the adapters was met."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from infra.prove import job_exercises, run_exercises, small_exercises
from infra.prove.exercises import bench_over, run_all
from infra.prove.findings import Finding, Verdict
from infra.prove.recording import Recorder
from infra.prove.scratch import Scratch
from infra.prove.shapes import Shapes, shapes_in

EXERCISES = (*job_exercises.EXERCISES, *run_exercises.EXERCISES, *small_exercises.EXERCISES)

_NOBODY_CAN_ORDER_IT = "nobody can order this refusal; that the adapters know its code rests on AWS's documentation"
_NEEDS_A_RESTORE = "a restore takes hours; the runbook's drill of restoring the tables shows it"
#: Shapes that no exercise sends or provokes, and why.
NOT_SHOWN: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "KmsThrottled",
            "OverLimit",
            "ProvisionedThroughputExceeded",
            "RequestLimitExceeded",
            "RequestThrottled",
            "SlowDown",
            "Throttled",
            "Throttling",
            "ThrottlingError",
            "TooManyRequests",
            "TransactionConflict",
            "ReplicatedWriteConflict",
            "InternalServerError",
            "InternalError",
            "InternalFailure",
            "RequestTimeout",
            "TransactionInProgress",
            "ItemCollectionSizeLimitExceeded",
            "Serialization",
            "Validation",
        ),
        _NOBODY_CAN_ORDER_IT,
    ),
    **dict.fromkeys(("backups.newest", "backups.begin", "backups.complete", "backups.describe"), _NEEDS_A_RESTORE),
    # Of SQS: `queues` looks at them.
    **dict.fromkeys(
        ("MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"),
        "what a stale handle is answered with is said under `queue`",
    ),
}
#: How what a function puts together is told from the rest.
TEXTS: Mapping[str, str] = {
    "conditions.all_as_seen": r"#(\w+) = :seen_\1",
    "conditions.set_and_remove": r"^SET #(\w+) = :\1",
    "job_holds._replace": r"#place\.#seen0 = :seen0",
    "statements._insert_text": r"^INSERT INTO",
    "statements._update_text": r"^UPDATE \"",
}


def prove_tables(scratch: Scratch) -> list[Finding]:
    recorder = Recorder()
    findings = run_all(bench_over(scratch, recorder), EXERCISES)
    return [*findings, *shape_findings(shapes_in(), recorder)]


def named_shapes() -> frozenset[str]:
    """What the proof knows of."""
    return frozenset(NOT_SHOWN).union(*(each.shows for each in EXERCISES))


def shape_findings(shapes: Shapes, recorder: Recorder) -> Iterator[Finding]:
    """Pure but for the recorder, which it reads."""
    for name in sorted(shapes.names):
        answers = _answers(name, shapes, recorder)
        if answers:
            yield Finding("shapes", name, Verdict.PASSED, ", ".join(answers))
        elif name in NOT_SHOWN:
            yield Finding("shapes", name, Verdict.NOT_SHOWN, NOT_SHOWN[name])
        else:
            yield Finding("shapes", name, Verdict.FAILED, "no exercise met it")


def _answers(name: str, shapes: Shapes, recorder: Recorder) -> Collection[str]:
    """What was answered to what has this shape, and how often; empty when it was not met."""
    if name in shapes.operations:
        return ["called"] if name in recorder.operations else []
    if name in shapes.codes:
        return ["answered"] if name in recorder.codes else []
    if name in shapes.texts:
        pattern = re.compile(TEXTS[name]) if name in TEXTS else None
        answers = recorder.answers_to(lambda text: pattern is not None and pattern.search(text) is not None)
    else:
        wanted = shapes.conditions[name]
        parts = (wanted,) if isinstance(wanted, str) else tuple(f"#{attribute}" for attribute in wanted)
        answers = recorder.answers_to(lambda text: all(part in text for part in parts))
    return [f"{answer}: {count}" for answer, count in sorted(answers.items())]
