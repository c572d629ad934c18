"""Every limit a user can meet, in one place; the API enforces them and the docs publish them."""

from __future__ import annotations

import re

from shared.domain.instants import DAY, HOUR, MINUTE, SECOND
from shared.domain.timing import ACCEPTED_PAST_MS

JOB_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
#: Whoever jobs belong to. It is a part of keys, of index partitions and of a queue's message groups.
OWNER_ID = re.compile(r"[A-Za-z0-9_.:@|+=-]{1,64}", re.ASCII)
#: Of any run_id that Carillon makes, so that nothing else is looked up.
RUN_ID = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
MAX_NAME_LENGTH = 200
MAX_GROUP_LENGTH = 64
MAX_TAGS = 20
MAX_TAG_KEY_LENGTH = 64
MAX_TAG_VALUE_LENGTH = 200
#: Of the payload as compact UTF-8 JSON.
MAX_PAYLOAD_BYTES = 128 * 1024
#: Of a whole request body: a payload with generous room for the rest.
MAX_BODY_BYTES = 192 * 1024
#: Of the body of a batch. A Lambda takes 6 MB, and quotation marks take two characters in its event.
MAX_BATCH_BODY_BYTES = 4 * 1024 * 1024
MAX_BATCH = 100
#: Jobs that one call on a group or tag changes before it hands over to the next page.
MAX_BULK = 100
#: Slots that one backfill may plan.
MAX_BACKFILL = 100
MAX_BACKFILL_AGE_MS = 3_660 * DAY
MAX_URL_LENGTH = 2048
#: Of an HTTP target: how many, and names and values together.
MAX_HEADERS = 50
MAX_HEADERS_LENGTH = 8 * 1024
MAX_REDIRECTS = 5
#: Levels of a JSON document; deeper ones are an attack on its readers.
MAX_DEPTH = 64
#: Things wrong with a document, or with all of a batch, that an answer tells.
MAX_PROBLEMS = 20
MAX_PROBLEMS_OF_BATCH = 100
MAX_IDEMPOTENCY_KEY_LENGTH = 128
IDEMPOTENCY_KEPT_MS = DAY

MAX_CRON_LENGTH = 256
MIN_INTERVAL_MS = 1 * SECOND
#: How far ahead a slot may lie: fifty years of 366 days.
MAX_HORIZON_MS = 50 * 366 * DAY
MAX_WINDOW_MS = DAY
MAX_EXCLUDED_DATES = 100
MAX_PAST_MS = ACCEPTED_PAST_MS
MAX_RUNS = 1_000_000
MAX_CATCH_UP = 1_000

#: No machine is on time to the millisecond: with less, every short stall leaves slots out.
MIN_GRACE_MS = 1 * SECOND

MIN_TIMEOUT_MS = 1 * SECOND
MAX_TIMEOUT_MS = 11 * HOUR
#: What fits into a Lambda function, which ends after 15 minutes; a longer run needs lane `long`.
MAX_LAMBDA_TIMEOUT_MS = 13 * MINUTE
MAX_ATTEMPTS = 100
#: Runs of a job at once, where it limits them: their holders stand in the job's row, which each of them writes.
MAX_CONCURRENT = 100
MAX_RETRY_FACTOR = 100.0
MAX_RETRY_AGE_MS = 7 * DAY
#: Words in `retry_on` and in `never_on`.
MAX_RETRY_WORDS = 20
RETRY_WORD = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)
MAX_KEEP_AFTER_COMPLETION_MS = 366 * DAY

#: Of one owner, averaged over REQUEST_WINDOW_MS; a burst may use a window's requests at once.
REQUESTS_PER_SECOND = 500
REQUEST_WINDOW_MS = 10 * SECOND
#: Of one owner, ended ones that are still kept included. Counted from an index, so roughly.
MAX_JOBS_OF_OWNER = 1_000_000
#: Live keys of one owner: two for each of its programs, while one is rotated.
MAX_KEYS_OF_OWNER = 50

#: Runs planned again by one call, each a transaction: they must fit into the time-out of the API. And starts a second:
#: the lower bound, for a slow redrive keeps later ones of its owner waiting.
MAX_REDRIVE = 100
MIN_REDRIVE_RATE = 0.01
MAX_REDRIVE_RATE = 100

#: Of the runs that are alive, in the answer to a DELETE and in the row of the job.
MAX_NAMED_RUNS = 1_000
DEFAULT_PAGE = 50
MAX_PAGE = 200
#: Of each job in a list: each costs a query.
MAX_LAST_RUNS = 20
MAX_PREVIEW = 100

#: Of one owner, and together in one row.
MAX_GRANTS = 100
#: Of one grant.
MAX_GRANT_MEMBERS = 50
#: One that receivers know, and one that takes its place.
MAX_SIGNING_KEYS = 2

#: Of what a run stores of its output and of its error.
MAX_OUTPUT_BYTES = 4 * 1024
MAX_ERROR_LENGTH = 4 * 1024
MAX_PROGRESS_BYTES = 1024

#: Characters that SQS, and so a dispatch's group, may carry: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
UNSENDABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
