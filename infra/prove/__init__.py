"""`python -P -m infra.prove`: what Carillon takes for granted of AWS, tried on the account that it is deployed to.

Emulators accept what AWS refuses, and the other way round. So the stores themselves (`shared/adapters/dynamodb`) are
driven through everything they do, on scratch tables of their own, and each answer is compared with the one that they
rest on. What they may do is read from their source (`shapes`): an operation, a condition or a text that no exercise
names fails a test, one that no exercise meets fails the proof.

    shapes      what the adapters hold               findings    what was seen, and the report
    exercises, job_exercises, run_exercises, small_exercises   the stores, driven
    recording   what was sent and answered           scratch     tables and a queue, made and deleted
    queues      limits and refusals of SQS           smoke       one job through a deployment
    drift       how late runs of a lane start        bound       what it costs at most
"""
