from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import Annotations, Fn
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IDependable

from infra.acknowledgements import acknowledge
from infra.settings import Environment, NetworkSettings
from infra.words import in_pascal_case

#: What tasks call, and ECS for them, when nothing leads out of their subnets. DynamoDB and S3 have gateways, which are
#: free; each of these is about 7 dollars a month in each zone.
_INTERFACES = MappingProxyType(
    {
        "queues": ec2.InterfaceVpcEndpointAwsService.SQS,
        "logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
        "registry": ec2.InterfaceVpcEndpointAwsService.ECR,
        "images": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
        "functions": ec2.InterfaceVpcEndpointAwsService.LAMBDA_,
        "events": ec2.InterfaceVpcEndpointAwsService.EVENTBRIDGE,
        "secrets": ec2.InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
        # Of the roles that grants name.
        "roles": ec2.InterfaceVpcEndpointAwsService.STS,
    }
)
_TRACES = ec2.InterfaceVpcEndpointAwsService.XRAY


class Network(Construct):
    """Where the tasks live. They listen on nothing and admit nothing, wherever that is.

    Public subnets and no NAT by default, which is 30 dollars a month less: a public address is only a way out here.
    `ready` is what a service waits for before its first task starts.
    """

    def __init__(self, scope: Construct, construct_id: str, *, environment: Environment) -> None:
        super().__init__(scope, construct_id)
        settings, tracing = environment.network, environment.tracing
        self.has_public_addresses = settings.mode == "public" or settings.assign_public_ip
        self.ready: list[IDependable] = []
        if settings.mode == "existing":
            self.vpc, self.subnets = self._existing(settings)
        else:
            self.vpc, self.subnets = self._own(settings)
        self.outbound_only = ec2.SecurityGroup(
            self, "OutboundOnly", vpc=self.vpc, description="Tasks call out; nothing calls them"
        )
        if settings.mode == "private":
            has_traces = tracing is not None and tracing.is_sent_to_aws
            self._add_endpoints(_INTERFACES | ({"traces": _TRACES} if has_traces else {}))

    def _existing(self, settings: NetworkSettings) -> tuple[ec2.IVpc, ec2.SubnetSelection]:
        assert settings.vpc_id is not None
        # CDK tells public from private subnets by what the caller says; only a selection of ours reads it.
        vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=settings.vpc_id,
            availability_zones=list(settings.availability_zones),
            private_subnet_ids=list(settings.subnet_ids),
        )
        for subnet in vpc.private_subnets:
            Annotations.of(subnet).acknowledge_warning(
                "@aws-cdk/aws-ec2:noSubnetRouteTableId",
                "nothing here asks for the routes of a network that is not ours",
            )
        return vpc, ec2.SubnetSelection(subnets=vpc.private_subnets)

    def _own(self, settings: NetworkSettings) -> tuple[ec2.IVpc, ec2.SubnetSelection]:
        is_public = settings.mode == "public"
        kind = ec2.SubnetType.PUBLIC if is_public else ec2.SubnetType.PRIVATE_ISOLATED
        vpc = ec2.Vpc(
            self,
            "Vpc",
            # Said here, for CDK takes two at most where it does not know the account.
            availability_zones=list(settings.availability_zones)
            or [Fn.select(zone, Fn.get_azs()) for zone in range(settings.zones)],
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Public" if is_public else "Private",
                    subnet_type=kind,
                    map_public_ip_on_launch=False if is_public else None,
                )
            ],
            # Emptying it takes a custom resource with a function of its own, and nothing uses that group.
            restrict_default_security_group=False,
            gateway_endpoints={
                "DynamoDb": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
            },
        )
        acknowledge(
            vpc,
            "AwsSolutions-VPC7",
            "Nothing in this network accepts a connection, and flow logs cost more than the tasks they watch. "
            "Give an existing VPC with flow logs where they are asked for",
        )
        if is_public:
            # A task that starts before its subnet has a way out cannot pull its image, and the breaker counts it: the
            # route of each subnet, and not only the gateway that it leads to.
            self.ready += [subnet.internet_connectivity_established for subnet in vpc.public_subnets]
        return vpc, ec2.SubnetSelection(subnet_type=kind)

    def _add_endpoints(self, interfaces: Mapping[str, ec2.InterfaceVpcEndpointAwsService]) -> None:
        # Layers of images lie in S3.
        images = self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        self.ready.append(images)
        for name, service in interfaces.items():
            endpoint = self.vpc.add_interface_endpoint(in_pascal_case(name), service=service, open=False)
            endpoint.connections.allow_default_port_from(self.outbound_only)
            self.ready.append(endpoint)
