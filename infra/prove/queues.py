"""What the lanes take for granted of SQS, tried on a queue of the proof's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from infra.prove.exercises import OWNER
from infra.prove.findings import Finding, Verdict
from infra.prove.recording import plain
from infra.prove.scratch import Scratch
from shared.adapters.aws.calls import Calls
from shared.adapters.sqs.due_queue import BATCH, SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.domain.instants import Instant
from shared.domain.keys import job_key, run_id_of
from shared.domain.message import Dispatch
from shared.ports.due_queue import Delivery

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_WAIT_SECONDS = 2
_RECEIVES = 20
#: What a standard queue answers to a handle that is old: nothing, or one of these. Adapters take all for done.
_STALE = {"accepted", "ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"}


def prove_queue(scratch: Scratch) -> Iterator[Finding]:
    clock = SystemClock()
    queue = SqsDueQueue(scratch.sqs, scratch.queue_url, Calls(clock, SystemRandomness()))
    sent = queue.send([_dispatch(clock.now(), number) for number in range(BATCH)])
    yield _judged("a batch of ten, with message groups", len(sent.accepted), BATCH)
    received: dict[str, Delivery] = {}
    for _ in range(_RECEIVES):
        for delivery in queue.receive(limit=BATCH, wait_seconds=_WAIT_SECONDS, visibility_seconds=60):
            received[delivery.message_id] = delivery
        if len(received) == BATCH:
            break
    yield _judged(
        "all of them received, and readable", sum(each.dispatch is not None for each in received.values()), 10
    )
    deliveries = list(received.values())
    queue.hide_all(deliveries, seconds=30)
    queue.delete(deliveries)
    # Each raises when the queue answers what the adapter does not take for a stale handle.
    yield _tried("deleted twice", lambda: queue.delete(deliveries))
    if deliveries:
        yield _tried("hidden after its delete", lambda: queue.hide(deliveries[0], seconds=30))
        yield _stale(scratch, deliveries[0].receipt_handle)
    refusals = (
        ("eleven in a batch", [str(number) for number in range(BATCH + 1)], "TooManyEntriesInBatchRequest"),
        ("two of one id in a batch", ["0", "0"], "BatchEntryIdsNotDistinct"),
    )
    for what, ids, wanted in refusals:
        yield _judged(f"{what} are refused", _code(partial(_send, scratch.sqs, scratch.queue_url, ids)), wanted)


def _stale(scratch: Scratch, handle: str) -> Finding:
    code = _code(
        lambda: scratch.sqs.change_message_visibility(
            QueueUrl=scratch.queue_url, ReceiptHandle=handle, VisibilityTimeout=30
        )
    )
    return Finding("queue", "a stale receipt handle", Verdict.PASSED if code in _STALE else Verdict.FAILED, code)


def _send(client: SQSClient, url: str, ids: list[str]) -> object:
    return client.send_message_batch(QueueUrl=url, Entries=[{"Id": each, "MessageBody": "proof"} for each in ids])


def _code(call: Callable[[], object]) -> str:
    try:
        call()
    except ClientError as error:
        return plain(error.response["Error"]["Code"])
    return "accepted"


def _judged(what: str, got: object, wanted: object) -> Finding:
    if got == wanted:
        return Finding("queue", what, Verdict.PASSED, str(got))
    return Finding("queue", what, Verdict.FAILED, f"expected {wanted}, got {got}")


def _tried(what: str, call: Callable[[], None]) -> Finding:
    try:
        call()
    except Exception as failure:  # noqa: BLE001 (whatever it is, it is what was found)
        return Finding("queue", what, Verdict.FAILED, f"{type(failure).__name__}: {failure}")
    return Finding("queue", what, Verdict.PASSED, "no failure")


def _dispatch(now: Instant, number: int) -> Dispatch:
    slot = Instant(now + number)
    return Dispatch(
        job_key=job_key(OWNER, "queued"),
        generation=now,
        slot=slot,
        fire_at=slot,
        run_id=run_id_of(slot),
        shard=1,
        epoch=1,
        enqueued_at=now,
    )
