from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

ZONES = 2


class Network(Construct):
    """Public subnets in two zones, and a way to DynamoDB that costs nothing.

    No NAT: the tasks have public addresses, listen on nothing, and admit nothing. That is 30 dollars a month less.
    """

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=ZONES,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC, map_public_ip_on_launch=False)
            ],
            # Emptying it takes a custom resource with a function of its own, and nothing uses that group.
            restrict_default_security_group=False,
            gateway_endpoints={
                "DynamoDb": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
            },
        )
        self.outbound_only = ec2.SecurityGroup(
            self, "OutboundOnly", vpc=self.vpc, description="Tasks call out; nothing calls them"
        )
