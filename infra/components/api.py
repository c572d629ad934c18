from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from constructs import Construct

from infra import bundle
from infra.components.python_function import PythonFunction, published
from infra.settings import ApiSettings, Environment
from infra.settings.environment import Auth
from infra.settings.handlers import variables_of_names

#: One second less than an HTTP API waits, and than the protocol allows a write of the API to take.
TIMEOUT_SECONDS = 29
#: It needs a third of it; the rest is for the processor that comes with it, and more makes the idle snapshot dearer.
MEMORY_MB = 512
#: Without a caller: whether it answers, and what it answers.
OPEN_PATHS = ("/v1/health", "/v1/openapi.json")


class Api(Construct):
    """An HTTP API that hands everything to one function, so that every answer is the function's.

    Where API Gateway checks callers it answers those whom it does not let in, and what is open has routes of its own.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, variables: Mapping[str, str], environment: Environment
    ) -> None:
        super().__init__(scope, construct_id)
        handler = PythonFunction(
            self,
            "Handler",
            source=bundle.API,
            handler="functions.api.app.handler",
            variables={
                **variables,
                **environment.auth.variables,
                **environment.owner_limits.variables,
                **environment.api.variables,
                **variables_of_names(environment.handlers),
            },
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            memory_mb=MEMORY_MB,
            environment=environment,
            reserved_concurrency=environment.api.reserved_concurrency,
            snap_start=not environment.is_emulated,
            is_traced=True,
        )
        self.role = handler.role
        self.function = handler.function
        target = handler.function if environment.is_emulated else published(handler.function)
        integration = integrations.HttpLambdaIntegration(
            "Integration", target, timeout=Duration.seconds(TIMEOUT_SECONDS)
        )
        authorizer = _authorizer(environment.auth)
        self.http = apigateway.HttpApi(
            self,
            "Http",
            description="Carillon",
            default_integration=integration,
            default_authorizer=authorizer,
        )
        _throttle(self.http, environment.api)
        if authorizer is not None:
            for path in OPEN_PATHS:
                self.http.add_routes(
                    path=path,
                    methods=[apigateway.HttpMethod.GET],
                    integration=integration,
                    authorizer=apigateway.HttpNoneAuthorizer(),
                )


def _throttle(http: apigateway.HttpApi, settings: ApiSettings) -> None:
    assert http.default_stage is not None
    stage = http.default_stage.node.default_child
    assert isinstance(stage, apigateway.CfnStage)
    stage.default_route_settings = apigateway.CfnStage.RouteSettingsProperty(
        throttling_rate_limit=settings.requests_per_second, throttling_burst_limit=settings.burst
    )


def _authorizer(auth: Auth) -> apigateway.IHttpRouteAuthorizer | None:
    """What API Gateway checks; None where the function does it itself."""
    match auth.mode:
        case "jwt":
            assert auth.issuer is not None
            return authorizers.HttpJwtAuthorizer("Token", auth.issuer, jwt_audience=[*auth.audience])
        case "iam":
            return authorizers.HttpIamAuthorizer()
        case "keys":
            return None
