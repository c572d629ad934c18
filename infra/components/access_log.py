from __future__ import annotations

import json

from aws_cdk import aws_apigatewayv2 as apigateway
from constructs import Construct

from infra.components.log import Log
from infra.settings import Environment

#: Who asked for what and how it went; neither headers nor bodies. `instance` is what an error told its caller.
_LINE = json.dumps(
    {
        "action": "api.access",
        "instance": "$context.requestId",
        "at": "$context.requestTimeEpoch",
        "method": "$context.httpMethod",
        "path": "$context.path",
        "status": "$context.status",
        "bytes": "$context.responseLength",
        "latency_ms": "$context.responseLatency",
        "integration_error": "$context.integrationErrorMessage",
        "source_ip": "$context.identity.sourceIp",
        "user_agent": "$context.identity.userAgent",
    }
)


class AccessLog(Construct):
    """One line for each request to an API, whether or not it reached the function."""

    def __init__(
        self, scope: Construct, construct_id: str, *, http: apigateway.HttpApi, environment: Environment
    ) -> None:
        super().__init__(scope, construct_id)
        log = Log(self, "Log", environment=environment)
        assert http.default_stage is not None
        stage = http.default_stage.node.default_child
        assert isinstance(stage, apigateway.CfnStage)
        stage.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.group.log_group_arn, format=_LINE
        )
