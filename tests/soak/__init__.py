"""A long run of everything at once, judged by a ledger that knows nothing of the product's code.

Jobs of every kind are made, changed and deleted through the HTTPS API alone, and their webhooks reach a receiver that
fails in many ways, while nodes and workers are killed, frozen and stopped and a proxy makes faults. Then all of it
ends, and `judge` compares what was answered and delivered with the rows that the API shows.

    ledger     what was asked, answered and delivered, as plain values
    judge      what must hold of a ledger: pure, tested by ledgers that break each rule
    receiver   the webhooks' receiver, and what it does to them
    asking     plain HTTP to the API, repeated until the outcome is known
    driver     asks for all that the API does, at random, by a seed
    chaos      kills, freezes, stops, and faults of tables and queues
    soak       the whole of it

`make soak MINUTES=20 SEED=1` runs it over a local stack of its own; with `--url` it runs against a deployment, without
the chaos and with handlers in place of webhooks, which a deployment could not send to this machine.
"""
