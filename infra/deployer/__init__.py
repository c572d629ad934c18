"""`python -P -m infra.deployer <document>`: the least permissions of who deploys, as policy documents.

    deployer      the person: assumes the CDK's roles, asks the account, makes the first key
    execution-1, execution-2   CloudFormation, which makes the resources: for `cdk bootstrap`
    proof         beside `deployer`, for `infra.prove`

They stand on AWS's documentation; no account has judged them yet. A test holds them against every resource type of the
templates.
"""
