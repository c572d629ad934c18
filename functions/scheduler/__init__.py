"""A scheduler node: holds shards by lease, keeps their next slots in a timing wheel, and hands each fire to a lane.

The protocol
============

A *shard* is a fixed slice of all jobs. At any moment at most one node *should* fire it: its owner, named in the
shard's lease in table `fleet` together with an *epoch* that rises at each change of owner and a *watermark* W. Two
nodes may believe in the same shard for a while. That costs duplicate dispatches, which the worker's claim makes
harmless; it never costs a slot. So every rule below errs towards firing twice.

States of a shard, and who moves them::

    ownerless --take--> owned (epoch + 1) --disown--> ownerless        the owner, when it drains
                          |  ^
                          |  +--take (epoch + 1)--- another node        dead owner: at once; live one: for balance,
                          +--lose: the owner reads another epoch        after the taker has loaded the shard

States of a slot, and who moves them::

    planned --tick--> unsettled --accepted by SQS, or its row written--> settled      the owner
       (in the wheel)    (in flight)                                      (W may pass it)

Trust. A node beats every second and trusts its leases until *the start of its last successful beat + 3 s*, by its own
monotonic clock. Peers call it dead after 4 s of silence, counted only across their own successful reads. So it stops
before they start. Trust that lapsed comes back only after the epochs were read again: others may own the shards then.

The watermark. Everything with fire_at <= W is settled. W is raised after the fact, conditional on owner and epoch, to
just before the oldest unsettled fire_at, and never beyond what the wheel was drained to or what was read from the table
(the horizon of the last complete load). A slot is settled only by SQS's word for that very message, or by its row.

Taking over. The entries are loaded from the beginning of time. A single fire exists, so it is unsettled: dispatch it. A
recurring entry starts behind W, or, when it is *fresh*, at its own `next_at`: W may have passed before the entry was
visible, since the API is slower than the wheel, or while it was parked. `fresh` is cleared only after a checkpoint that
covers what it fired.

Learning of changes. The API never speaks to a node. It writes an entry (for every change of an existing job with
`next_at = now`, as a tombstone when nothing is left to fire), and sweeps find it: each looks back MARGIN further than
the start of the last complete one, which is more than the slowest write with the worst clock can lag.

Reading takes its time. Loads and sweeps go on in slices of twenty milliseconds, between which plans, checkpoints and
each other have their turn, and take in a few entries at a time, so that the lock is held for moments. What is known
already is not even decoded. What was just taken is loaded first.

What cannot be used. An entry that names a time zone this node lacks, or was written by a later release, is set aside by
name (`aside.py`); so is, for a while, a shard with which a step fails (`setbacks.py`). The others go on. A single fire
and what is fresh lose nothing while they lie in the table. What W spoke for is parked, fresh, at the instant behind W,
before W may pass that; so whoever can read it goes on there. Each load looks at it again.

No write per fire. A recurring entry stays in memory and its row untouched while its next slot is within 6 h; W alone
remembers. Further away, the entry is parked under that slot, only when no earlier slot of the entry is unsettled, and
only if the entry still exists. Neither a move nor a delete needs the epoch: an accepted slot is a fact, whoever reports
it. Where it lies then has an index, which what was announced only (`shared.domain.entry`) does not pay for. So a load
reads two places, what was announced first: an entry that somebody parks meanwhile is met in the second. A sweep reads
what is parked only where the last load does not reach. An entry that another node parks within that reach, which a full
node may do in the second in which it loses the shard, is met by the next load: late, but it is fresh, so W, which may
have passed it meanwhile, says nothing about it.

Bounded memory. A node holds so many entries at most (`capacity.py`), each counted with what it weighs: a hundred days
that a job excludes count as twenty entries, once for all that have the same (`weights.py`). Near the cap, the residency
shrinks and what fires later goes back to the table; at the cap, loads stop. W may pass only what was read: it ends
where a load was cut, and before any entry that went back, until a read that began after the move was done has covered
that place again. Sweeps cover it too, two seconds ahead, so what does not fit is still on time.

Bounded steps. One tick takes so many slots from the wheels at most, and each lane holds so many that wait for its
queue (`room.py`). Each lane has wheels of its own, so what finds no room stays where it is and holds up no other lane;
W stays before it. Of what was missed only the stretch is kept for each entry, until there is room for what its policy
says (`overdue.py`); the entry's later slots fire meanwhile. Rows are bounded alike.

Herds. Of many slots in one second each is dispatched a little earlier than the one before it, at the pace at which
workers claim, where these can hold runs (`herds.py`). W knows nothing of it: the wheel is drained by the plain lead,
and what left it earlier is in flight or settled like any other. So that a herd is known in time, what fires within
twelve seconds is looked for every five; such a look covers nothing, and what it misses a sweep finds.

Looking back. SQS may lose a message, and a wheel may have a bug. The audit (`audit.py`) looks up, within a budget, the
runs that must exist by now, and dispatches again what has none. It looks from `from` on, at what this node fired.

Failing. A step that a store fails waits longer each time, by chance; a lane whose queue takes nothing waits likewise,
and calls made again come out of one budget. While the table is out there is no beat, so nobody is judged and no shard
moves; when it is back the epochs are read first. Whatever a step raises, each slot is in a wheel, in the outbox, among
the rows, or in a batch that answers for it. An entry that cannot be fired is set aside by name: it goes back to the
table under its slot, where W need not wait for it, and is tried again when a minute has passed.

Leaving. On SIGTERM the loops end, what is out is sent, W is made durable and the shards are given up, in two seconds.
What is not done by then is not done: it is unsettled for the next owner. A loop that hangs gives no signs of life
(`health.py`), and the task is replaced.

What happens when
=================

=============================================  ========================================================================
the owner dies                                 silent for 4 s, taken at once, loaded, late slots fire from W on
... between SQS's answer and the checkpoint    fired again by the next owner: a duplicate, dropped at the claim
the owner is paused, and wakes                 its trust has lapsed: it dispatches nothing until it read the epochs, and
                                               its checkpoint is refused
the answer of SendMessageBatch is lost         unsettled: sent again
SQS refuses a message for good                 a FAILED row settles the slot, so that it cannot pin W; the waiting row
                                               of a single fire ends, and so does the job of a last slot
the table cannot be reached                    no beat, so no dispatch after 3 s; when it is back nobody looks dead
a checkpoint's answer is lost                  asked again, with a later W and never with an earlier one
a take's answer is lost                        the next plan reads the lease as its own epoch it does not hold, and
                                               takes it again
an API write commits late                      within MARGIN: a sweep still looks there
two nodes take one shard                       conditional on the epoch: one of them
an entry cannot be read                        set aside by name, and looked at again; the table remembers what it owes
the brake is on                                nobody ticks; when it is off, the misfire policy decides what still fires
a message expires, or a queue is purged        no run a minute after fire_at: the audit dispatches the slot again
a node starts while the table is out           it waits; its first beat and plan come when the table does
SIGTERM comes while SQS or the table is out    what can be given up is; the rest is taken once the beat is silent
a queue is away for long                       so much as its lane holds waits in memory, the rest in the wheels
one entry cannot be fired                      it is set aside by name, and tried again; the others fire
more entries than fit                          the far ones wait in the table, and are read two seconds ahead at the
                                               latest
an entry is parked, and the job changes        one of the two transactions is first: the change deletes both places, and
                                               who parks finds nothing to park
the next owner sends what was sent before      the same run_id: dropped at the claim
=============================================  ========================================================================
"""
