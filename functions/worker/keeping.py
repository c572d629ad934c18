"""How the message of a run that waits for its next attempt is kept, pure.

A short wait hides the message. A long one becomes a single-fire entry, for hidden messages count as in flight, of which
a lane may have 120,000; so does one that SQS would not bear: a message is hidden 12 hours at most from its receive, is
taken for poison when it was received too often, and is gone four days after it was sent, whatever hides it meanwhile.
"""

from __future__ import annotations

from shared.domain.instants import DAY, MINUTE, SECOND, Instant
from shared.domain.timing import LONGEST_KEPT_WAIT_MS
from shared.ports import Delivery
from shared.ports.due_queue import LONGEST_HIDDEN_SECONDS
from shared.schema import LANE_RETENTION_DAYS, MAX_RECEIVE_COUNT

#: Between this worker's clock and the queue's.
_SLACK_MS = MINUTE
#: Of the receives that a message may have, those left to what is no wait: duplicates, holds, dead workers.
_MOST_RECEIVES = MAX_RECEIVE_COUNT // 2
#: An older message is not relied on: the next attempt may take half a day, and so may each after a worker that died.
_OLDEST_MS = LANE_RETENTION_DAYS * DAY // 2


def is_old(delivery: Delivery, *, now: Instant) -> bool:
    """The queue may drop the message before the run that it stands for has ended."""
    return delivery.dispatch is not None and now - delivery.dispatch.enqueued_at > _OLDEST_MS


def kept_seconds(delivery: Delivery, *, until: Instant, now: Instant, lead_ms: int) -> int | None:
    """For how long to hide the message, so that it is back a little before `until`; None: it must not be kept."""
    wait_ms = until - now
    bearable_ms = LONGEST_HIDDEN_SECONDS * SECOND - (now - delivery.received_at) - _SLACK_MS
    is_worn = delivery.receive_count > _MOST_RECEIVES or is_old(delivery, now=now)
    if is_worn or wait_ms > min(LONGEST_KEPT_WAIT_MS, bearable_ms):
        return None
    return max((wait_ms - lead_ms) // SECOND, 0)
