"""Back to an instant: what an operator does when rows were lost or spoilt, and what is known before anything fires.

    python -P -m functions.scheduler.recovery restore --stack Carillon-prod-data --prefix restored --at ...
    cdk deploy Service -c environment=prod -c settings='{"restored_tables": {...}}'     as `restore` prints it
    python -P -m functions.scheduler.recovery misfires --prefix restored
    carillon firing on

`restore` brings every table back to one instant under a new name and puts the brake on in the restored `fleet`, before
any node has seen it: the service that is deployed on these tables fires nothing. `misfires` lists what the first owners
would do if the brake were released now, by the very rules that they go by (`first_unsettled`, `firing.fire`). Neither
touches the tables that were restored from.

What it cannot know is what was fired between the instant and the loss: those runs are in no restored row. One-time jobs
and single fires of that time fire again; receivers tell them by `webhook-id`, which is the same.

    forecast   pure: what becomes of an entry at an instant      report    pure: what an operator reads of it
    restoring  tables, one after the other                       wiring    the adapters
"""
