"""The timing wheel: which keys are due, for a million timers, without a clock.

A data structure and nothing else: time is an argument, in integer milliseconds, and the wheel neither sleeps nor
calls back. It imports nothing of the project.

Levels
======

A timer is a key and the instant it is due. It lies in exactly one *bucket*, and buckets of one width form a *level*:

    depth   width (ticks of 10 ms)
      0     1 ms        filled only from a crowded tick that is partly due
      1     one tick    10 ms
      2     2**9 ticks  5.12 s
      3     2**20 ticks 2.9 h
      4     2**30 ticks 124 days, and as many buckets as it takes

A new timer goes into the finest level of which one coarser bucket covers both it and the present: near timers into
ticks, far ones into wide buckets. When a wide bucket comes near it is *opened*: its timers move one level down. At
last whole ticks are handed out. A tick that is partly due is looked through, or, when crowded, split into
milliseconds: nothing is ever early.

Beside the levels one dict knows the due instant of every key. With it cancel and reschedule find the bucket by
arithmetic: a dict lookup for each level at worst, and one for every 43,690 timers that share the bucket.

An example with ticks of 10 ms and four buckets to a bucket (coarse_bits = (2, 4, 6)), so widths of 10, 40, 160 and
640 ms, started at 0:

    schedule("a", 25)       ticks[2]: tick 2 and tick 0 lie in the same 40 ms
    schedule("b", 130)      forties[3]: 120 to 159, in the same 160 ms as the present
    schedule("c", 700)      wides[1]: 640 to 1279
    expire(24)  -> []       tick 2 has begun; it is looked through, "a" stays
    expire(25)  -> a
    expire(100) -> []       forties[3] begins within 40 ms: it is opened, "b" moves to ticks[13]
    expire(130) -> b
    expire(9_999) -> c      wides[1] -> 160 ms -> 40 ms -> tick 70: three moves, and none for the empty time between

Absolute numbers
================

A textbook wheel is an array of W slots around which a hand turns, and a slot's index is the tick modulo W. Then a
timer of W + 88 ticks shares a slot with one of 88 and needs a count of rounds to not be fired a turn early; a jump of
the clock must turn the hand through every slot; and a clock that steps back leaves the hand ahead. Here a bucket is
`due_ms // width`, in a sparse dict: the number alone says when. What comes next is the bucket that begins first, of
whichever level, so the clock may stand still, jump days ahead or step back: nothing is early and nothing is lost. The
first bucket is found by trying the next few numbers, then by searching the level, which holds about one bucket of
the next level; empty buckets are deleted.

The budget
==========

A cascade that opens a bucket of 100,000 timers at once stalls for tens of milliseconds. So a call of `expire` moves
at most `MOVES` timers and hands out at most `limit`, and buckets are opened ahead of time, one bucket of the second
level before they begin: what a call does not get done, the following calls do. Order is kept: no timer passes a
bucket that begins before it and is not yet opened. If even that is too late (a clock that jumped, a crowd scheduled
for now) the answer is short while `next_due(now)` says `now`: call again.

    while wheel.next_due(now) == now:
        fire(wheel.expire(now))

Buckets grow as a list of dicts, because one dict of a million timers takes 20 ms to move to its next larger table.
The dict of all keys does so still: rarely (each time it doubles), and in `schedule`, not in `expire`.

There is no object for a timer. Dicts of strings and integers are all there is, about 70 bytes a timer beside its key
and instant, and CPython before 3.14 does not make its garbage collector look inside them.
"""

from functions.scheduler.wheel.timing_wheel import TimingWheel

__all__ = ["TimingWheel"]
