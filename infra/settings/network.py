from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

#: `public`: public subnets, no NAT, the cheapest. `private`: isolated subnets with an endpoint for each service that
#: tasks call for themselves; nothing reaches the internet, so from ECS neither http targets outside the VPC can be
#: called nor SNS, Step Functions and ECS as aws targets: give their lanes to Lambda, or take `existing`. `existing`:
#: subnets of a VPC of yours, which must have a way to DynamoDB, SQS, ECR, S3 and CloudWatch Logs.
Mode = Literal["public", "private", "existing"]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class NetworkSettings:
    """Where the tasks live. An existing VPC is described, not looked up, so that synth needs no account.

    `availability_zones` of a network of Carillon's own are zones that have Fargate, where not all of the Region's have
    it; without them the first `zones` of the account are taken.
    """

    mode: Mode = "public"
    zones: Annotated[int, Field(ge=2, le=6)] = 2
    vpc_id: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")] | None = None
    availability_zones: tuple[str, ...] = ()
    subnet_ids: tuple[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")], ...] = ()
    #: Whether the tasks get public addresses in an existing VPC: they need them in a subnet without NAT.
    assign_public_ip: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        described = {
            "vpc_id": self.vpc_id,
            "availability_zones": self.availability_zones,
            "subnet_ids": self.subnet_ids,
        }
        given = [name for name, value in described.items() if value]
        missing = [name for name, value in described.items() if not value]
        if self.mode == "existing" and missing:
            raise ValueError(
                f"mode existing needs {' and '.join(missing)}: describe your VPC with {', '.join(described)}"
            )
        of_existing = [name for name in given if name != "availability_zones"]
        if self.mode != "existing" and (of_existing or self.assign_public_ip):
            names = [*of_existing, *(["assign_public_ip"] if self.assign_public_ip else [])]
            raise ValueError(f"{' and '.join(names)} means nothing in mode {self.mode}: set mode to existing")
        if self.mode == "existing" and len(self.availability_zones) != len(self.subnet_ids):
            raise ValueError(
                f"subnet_ids has {len(self.subnet_ids)} and availability_zones {len(self.availability_zones)}: "
                "give one subnet for each zone, in the same order"
            )
        if self.mode != "existing" and len(self.availability_zones) == 1:
            raise ValueError("availability_zones names one zone: give two or more, or one zone takes all nodes")
        if self.mode == "existing" and len(self.subnet_ids) < 2:  # noqa: PLR2004 - the nodes must not share a zone
            raise ValueError("subnet_ids names one subnet: give two in different zones, or one zone takes all nodes")
        return self
