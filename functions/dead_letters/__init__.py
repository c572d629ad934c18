"""What becomes of messages that a lane's queue gave up: received too often, and never done with.

    lane's queue --received too often--> undelivered --this function--> the lane's dead letters

A message that nobody could work must not leave its run without an end. So each is settled by the claim rule, as a
worker would, except that the run is not started but ends FAILED with error type `undelivered`:

no row             the run was never claimed: a FAILED row
RUNNING, WAITING   alive (or about to be): the message is hidden and looked at again; lapsed: taken over, and FAILED
ended              the message was a duplicate: nothing

Then a copy goes to the dead letters of its lane, for people and alarms, and the message is done with. A redrive goes by
the row, and does not need the copy: taking copies out of the dead letters changes nothing.
"""
