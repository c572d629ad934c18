"""The worker: claims the runs that a lane delivers, holds each until fire_at, calls its target and records the end.

One executor, two hosts: `process_host` polls a lane and never stops, `lambda_host` is handed one batch at a time.

    delivery -> claim -> read -> hold -> start -> wait -> end -> finish -> acknowledge

claim        The run's row is inserted with token 1; where a row is, `decide_claim` says whose run it is. Nothing is
             read or called for a run that is not claimed.
read         The job, after the claim: what a pause or a cancel wrote before this read is obeyed, and what it wrote
             after it sees the claimed run. The order of the two is what makes an answer of the API exact.
             What is read is fresh for a second. A run that is held for longer is read again shortly before its time;
             one that waits for a thread, when it gets one, in one call with the others that wait. So a change of a job
             is in force a second after it was answered.
hold         Until fire_at, in a heap. The message is early by the lead, so that queue and claim are off the clock.
             A herd comes earlier, by and by; of it as many are held as could start within a second.
start        Never before fire_at on this host's clock, and never on a lease that has run out: both are looked at again
             on the thread that calls the target, after everything that takes time.
             A job whose runs exclude or limit each other has places: one is taken now, or the run is skipped or waits.
             So has an owner with a maximum; whose run finds none there waits, which is no attempt and no failure.
             A place of the job belongs to its run until the run has ended, also while its worker is dead.
wait         What a handler does takes one of a few threads for as long as it lasts. A webhook takes one while it is
             sent, and one when its answer is there; in between it has a place among its lane's receivers (`receivers`).
             A host that an owner calls gets a quarter of these at most. Its other runs wait in hand with their lease,
             and are given up after some seconds as those are that found no place: others of the lane overtake them.
end          The target's answer, or the deadline, whichever is first; what comes second is discarded.
finish       Written where the token is still ours, in batches, off the hot path. Refused: someone took over, so the
             result is discarded and the message left alone.
acknowledge  The message is deleted only now. A worker that dies before leaves it to be delivered again.

A failed attempt is repeated as its job's policy says (`shared.domain.retry`): its finish leaves the run WAITING. A
short wait keeps the message hidden; a long one becomes a single-fire entry, in one transaction with the row, and the
message goes. A crash between row and hiding loses nothing: the message comes back early, and the claim rule hides it.
What has no further attempt is FAILED, and a copy of its message goes to the lane's dead letters. Whose worker died is
tried again, up to its policy but three times at least; then it is FAILED too, for a run that kills workers must end.

A run has begun once an attempt of it has started, or may have: nobody knows what a worker did that fell silent. It is
never skipped. A pause and a change of the schedule stop slots, not the attempts that follow; without a place it waits.

A job that a worker cannot read or judge hurts only its own run: it waits for a worker that can, for as long as a
deployment takes, and has failed then.

A run whose end was asked for is told by its heartbeat, and is stored as CANCELLED whatever its target answers.

A worker that is stopped hands back what it has claimed and not started: the run waits for the same attempt from now on,
written like any other finish, and its message is shown at once.

Until then a heartbeat extends lease and visibility together, every third of the lease. Refused: the run is fenced; its
`cancelled` event is set and nothing more is written. A message whose run is alive elsewhere is hidden, never deleted.

A worker that dies leaves a lease that runs out, and a message that comes again then. Who receives it keeps it, and
watches the run's row: when that stood still for a lease by the watcher's own monotonic clock, the dead worker does not
trust its lease any more, whatever the wall clocks of the two say, and the run is taken over (`watched`). Anybody else
waits for the lease to be over by the clock bound.

What a store or a message does to one run hurts that run alone: a claim, heartbeat or end that the table refuses, a
message that nobody can read, a run for which no thread can be started. Each is named in the log, counted, and tried
again, ends with its reason, or becomes a dead letter.

A cancel finds the runs that go on by their slots while these are recent. So that it finds the others, a run whose slot
is long past is listed before its row says that it waits, was claimed or goes on, and taken off the list after its end.
"""
