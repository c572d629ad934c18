from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from constructs import Construct

from infra import bundle
from infra.components.python_function import PythonFunction, published
from infra.settings import Environment

#: One second less than an HTTP API waits, and than the protocol allows a write of the API to take.
TIMEOUT_SECONDS = 29
#: It needs a third of it; the rest is for the processor that comes with it, and more makes the idle snapshot dearer.
MEMORY_MB = 512


class Api(Construct):
    """An HTTP API whose only route hands everything to one function, so that every answer is the function's."""

    def __init__(
        self, scope: Construct, construct_id: str, *, variables: Mapping[str, str], environment: Environment
    ) -> None:
        super().__init__(scope, construct_id)
        handler = PythonFunction(
            self,
            "Handler",
            source=bundle.API,
            handler="functions.api.app.handler",
            variables=variables,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            memory_mb=MEMORY_MB,
            environment=environment,
            snap_start=not environment.is_emulated,
        )
        self.role = handler.role
        self.function = handler.function
        target = handler.function if environment.is_emulated else published(handler.function)
        self.http = apigateway.HttpApi(
            self,
            "Http",
            description="Carillon",
            default_integration=integrations.HttpLambdaIntegration(
                "Integration", target, timeout=Duration.seconds(TIMEOUT_SECONDS)
            ),
        )
