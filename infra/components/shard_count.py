from __future__ import annotations

from aws_cdk import CfnParameter, CfnRule, CfnRuleAssertion, Fn
from constructs import Construct

REFUSAL = (
    "The number of shards is for good: it is part of the key of every entry, and with another one nobody would find "
    "the jobs there are. Set shard_count back; RUNBOOK.md, 'Changing the number of shards', is the way to another one."
)


class ShardCount(Construct):
    """N as the tables were first deployed with, for everybody who computes a shard.

    A parameter keeps its first value (`cdk deploy` takes the previous one), and a rule compares it with what the
    template wants: CloudFormation refuses the deployment before it changes anything. A node compares once more, with
    what its fleet was first used with, for whoever deploys in another way; by then the functions would have changed.
    """

    def __init__(self, scope: Construct, construct_id: str, *, wanted: int) -> None:
        super().__init__(scope, construct_id)
        first = CfnParameter(
            self, "First", type="Number", default=wanted, description="The number of shards; never to be changed"
        )
        CfnRule(
            self,
            "Stays",
            assertions=[
                CfnRuleAssertion(
                    assert_=Fn.condition_equals(first.value_as_string, str(wanted)), assert_description=REFUSAL
                )
            ],
        )
        self.value = first.value_as_string
