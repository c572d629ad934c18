from __future__ import annotations

from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_certificatemanager as acm
from constructs import Construct

from infra.settings import CustomDomain


class OwnDomain(Construct):
    """A name of the deployer's for the API. `target` is what a DNS record of that name points to."""

    def __init__(
        self, scope: Construct, construct_id: str, *, http: apigateway.HttpApi, settings: CustomDomain
    ) -> None:
        super().__init__(scope, construct_id)
        name = apigateway.DomainName(
            self,
            "Name",
            domain_name=settings.name,
            certificate=acm.Certificate.from_certificate_arn(self, "Certificate", settings.certificate_arn),
        )
        mapping = apigateway.ApiMapping(self, "Mapping", api=http, domain_name=name)
        # A mapping to a stage that is not there yet is refused.
        assert http.default_stage is not None
        mapping.node.add_dependency(http.default_stage)
        self.target = name.regional_domain_name
