"""How much of what Carillon uses, where neither templates nor `measured.json` say so; tests hold these to the code."""

from __future__ import annotations

HOURS = 730
MINUTES = HOURS * 60
SECONDS = MINUTES * 60

# While nothing fires. ------------------------------------------------------------------------------------------------

#: A beat writes the node's row and reads the brake; a plan reads the three kinds of rows of `fleet`.
WRITES_OF_A_BEAT = 1
READS_OF_A_BEAT = 1
READS_OF_A_PLAN = 3
#: What was announced, and what is parked.
READS_OF_A_LOAD = 2
LOADS_EVERY_SECONDS = 300
#: Lambda keeps five pollers for a mapping, each waiting 20 s for a message.
POLLS_OF_A_MAPPING = 5 * 3 * MINUTES
#: One that is provisioned keeps two, and each waits as long.
POLLS_OF_A_POLLER = 3 * MINUTES
#: Four receivers for each lane, each waiting 10 s.
POLLS_OF_A_WORKER = 4 * 6 * MINUTES
#: What an idle node and an idle ECS worker report each minute; the other metrics are written when there are any.
NODE_METRICS = 5
WORKER_METRICS = 1
REPORT_KB = 1

# For each of these, besides what was measured (`measured.json`). ------------------------------------------------------

#: Told on the bus of EventBridge: of a run its end; of a one-time job its creation and its completion as well.
EVENTS_OF_A_RUN = 1
EVENTS_OF_A_ONE_TIME_JOB = 3
#: Each KB of payload more than the first is written with its job (twice, in a transaction) and read with its run.
WRITES_OF_A_PAYLOAD_KB = 2
READS_OF_A_PAYLOAD_KB = 0.25
API_SECONDS = 0.02
#: Each KB of output more than the first is written with the end of its run.
WRITES_OF_AN_OUTPUT_KB = 1
#: A run that takes longer than a third of its lease has a heartbeat for each such time, and is listed among those that
#: are alive, and taken from there.
BEAT_SECONDS = 20 / 3
WRITES_OF_A_LISTED_RUN = 2
#: A message comes before its fire, and an invocation waits for it: what was measured of a lane on Lambda.
HOLD_SECONDS = 0.27
#: What an invocation writes of itself (START, END, REPORT) and of its runs, and the API of a request: KB.
LOG_KB_OF_AN_INVOCATION = 1.2
LOG_KB_OF_A_REQUEST = 0.9
#: Of `measured.json`, in whose batches each call takes so many messages; what is hidden first goes in one call.
MEASURED_IN_BATCHES_OF = 10
HIDES_OF_AN_INVOCATION = 1
#: An entry that a node takes over with its shard, as it does when a deployment replaces it: half a KB of 4.
READS_OF_A_RELOAD = 0.125
#: Runs in a batch share one invocation.
RUNS_OF_AN_INVOCATION = 10
#: What a run keeps of itself: GB.
RUN_GB = 1e-6
