"""The rules of the scheduler, pure: no I/O, no clock, no randomness. Time is always an argument."""
