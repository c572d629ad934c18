from __future__ import annotations

import pytest

from tests.infra.synthesis import Properties, Synthesis, only, synthesise

VPC = "vpc-0123456789abcdef0"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0fedcba9876543210"]
#: The last one for traces.
INTERFACES = {"sqs", "logs", "ecr.api", "ecr.dkr", "lambda", "events", "secretsmanager", "sts", "xray"}


def endpoints(synthesis: Synthesis, kind: str) -> dict[str, Properties]:
    """By the service that each leads to."""
    found = synthesis.of_type("AWS::EC2::VPCEndpoint").values()
    return {name_of(each): each for each in found if each["VpcEndpointType"] == kind}


def name_of(endpoint: Properties) -> str:
    name = endpoint["ServiceName"]
    text = name if isinstance(name, str) else "".join(part for part in name["Fn::Join"][1] if isinstance(part, str))
    return text.removeprefix("com.amazonaws.").lstrip(".")


@pytest.fixture(scope="module")
def existing() -> Synthesis:
    return synthesise(
        "prod",
        network={
            "mode": "existing",
            "vpc_id": VPC,
            "availability_zones": ["eu-west-1a", "eu-west-1b"],
            "subnet_ids": SUBNETS,
        },
    )


def wiring(synthesis: Synthesis, program: str) -> Properties:
    configuration: Properties = synthesis.service_of(program)["NetworkConfiguration"]["AwsvpcConfiguration"]
    return configuration


def test_public_subnets_need_public_addresses_and_no_gateway_of_any_price(prod: Synthesis) -> None:
    assert wiring(prod, "scheduler")["AssignPublicIp"] == "ENABLED"
    assert set(endpoints(prod, "Gateway")) == {"dynamodb"}
    assert not endpoints(prod, "Interface")
    assert not prod.of_type("AWS::EC2::NatGateway")


def test_private_subnets_have_no_way_out_but_to_the_services_that_tasks_call(chosen: Synthesis) -> None:
    assert wiring(chosen, "scheduler")["AssignPublicIp"] == "DISABLED"
    assert not chosen.of_type("AWS::EC2::InternetGateway")
    assert set(endpoints(chosen, "Gateway")) == {"dynamodb", "s3"}
    assert set(endpoints(chosen, "Interface")) == INTERFACES


def test_there_are_as_many_zones_as_were_asked_for(chosen: Synthesis, prod: Synthesis) -> None:
    assert len(wiring(chosen, "scheduler")["Subnets"]) == 3
    assert len(wiring(prod, "scheduler")["Subnets"]) == 2
    assert len({str(each["AvailabilityZone"]) for each in chosen.of_type("AWS::EC2::Subnet").values()}) == 3


def test_zones_that_have_fargate_can_be_named() -> None:
    named = synthesise("prod", network={"availability_zones": ["us-east-1a", "us-east-1c", "us-east-1f"]})

    zones = {each["AvailabilityZone"] for each in named.of_type("AWS::EC2::Subnet").values()}
    assert zones == {"us-east-1a", "us-east-1c", "us-east-1f"}


def test_a_task_starts_once_the_routes_of_its_subnets_lead_out(prod: Synthesis) -> None:
    routes = set(prod.of_type("AWS::EC2::Route"))
    assert len(routes) == 2
    for service in prod.service.find_resources("AWS::ECS::Service").values():
        assert routes <= set(service["DependsOn"])


def test_an_endpoint_admits_the_tasks_and_nobody_else(chosen: Synthesis) -> None:
    tasks = only(wiring(chosen, "scheduler")["SecurityGroups"])
    rules = chosen.of_type("AWS::EC2::SecurityGroupIngress").values()

    assert len(rules) == len(INTERFACES)
    for rule in rules:
        assert rule["SourceSecurityGroupId"] == tasks
        assert (rule["FromPort"], rule["ToPort"]) == (443, 443)
    assert not [
        group for group in chosen.of_type("AWS::EC2::SecurityGroup").values() if "SecurityGroupIngress" in group
    ]


def test_an_existing_network_is_used_as_it_is_described(existing: Synthesis) -> None:
    for program in ("scheduler", "worker"):
        assert wiring(existing, program)["Subnets"] == SUBNETS
        assert wiring(existing, program)["AssignPublicIp"] == "DISABLED"
    assert only(list(existing.of_type("AWS::EC2::SecurityGroup").values()))["VpcId"] == VPC
    for kind in ("VPC", "Subnet", "VPCEndpoint", "RouteTable"):
        assert not existing.of_type(f"AWS::EC2::{kind}")
