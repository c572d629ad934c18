"""How the message of a run that waits for its next attempt is kept, pure.

A short wait hides the message. A long one becomes a single-fire entry, for hidden messages count as in flight, of which
a lane may have 120,000; so does one that SQS would not bear: a message is hidden 12 hours at most from its receive, and
is taken for poison when it was received too often.
"""

from __future__ import annotations

from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.timing import LONGEST_KEPT_WAIT_MS
from shared.ports import Delivery
from shared.ports.due_queue import LONGEST_HIDDEN_SECONDS
from shared.schema import MAX_RECEIVE_COUNT

#: Between this worker's clock and the queue's.
_SLACK_MS = MINUTE
#: Of the receives that a message may have, those left to what is no wait: duplicates, holds, dead workers.
_MOST_RECEIVES = MAX_RECEIVE_COUNT // 2


def kept_seconds(delivery: Delivery, *, until: Instant, now: Instant, lead_ms: int) -> int | None:
    """For how long to hide the message, so that it is back a little before `until`; None: it must not be kept."""
    wait_ms = until - now
    bearable_ms = LONGEST_HIDDEN_SECONDS * SECOND - (now - delivery.received_at) - _SLACK_MS
    if wait_ms > min(LONGEST_KEPT_WAIT_MS, bearable_ms) or delivery.receive_count > _MOST_RECEIVES:
        return None
    return max((wait_ms - lead_ms) // SECOND, 0)
