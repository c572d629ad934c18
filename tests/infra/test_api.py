from __future__ import annotations

from functions.api.settings import read_settings
from infra.settings.api import MOST_PAYLOAD_BYTES
from shared.config import table_variable
from shared.domain.instants import DAY
from shared.domain.limits import MAX_JOBS_OF_OWNER, MAX_PAYLOAD_BYTES, REQUESTS_PER_SECOND
from shared.domain.timing import API_TIMEOUT_MS
from tests.infra.synthesis import Synthesis, only, synthesise

HANDLER = "functions.api.app.handler"


def test_one_route_hands_everything_to_one_function(prod: Synthesis) -> None:
    route = only(list(prod.of_type("AWS::ApiGatewayV2::Route").values()))
    integration = only(list(prod.of_type("AWS::ApiGatewayV2::Integration").values()))

    assert route["RouteKey"] == "$default"
    assert integration["IntegrationType"] == "AWS_PROXY"
    assert integration["PayloadFormatVersion"] == "2.0"
    assert only(list(prod.of_type("AWS::ApiGatewayV2::Stage").values()))["StageName"] == "$default"


def test_the_api_calls_a_published_version_that_is_restored_from_a_snapshot(prod: Synthesis) -> None:
    alias, properties = only([each for each in prod.of_type("AWS::Lambda::Alias").items() if "Api" in each[0]])
    integration = only(list(prod.of_type("AWS::ApiGatewayV2::Integration").values()))

    assert prod.function(HANDLER)["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert integration["IntegrationUri"] == {"Ref": alias}
    assert properties["Name"] == "live"


def test_the_emulator_calls_the_function_itself(local: Synthesis) -> None:
    assert not local.of_type("AWS::Lambda::Alias")
    assert "SnapStart" not in local.function(HANDLER)


def test_the_function_ends_before_a_write_of_it_may_be_as_old_as_the_protocol_allows(prod: Synthesis) -> None:
    assert prod.function(HANDLER)["Timeout"] * 1000 < API_TIMEOUT_MS


def test_the_function_runs_on_arm_with_the_zones_of_its_own_package(prod: Synthesis) -> None:
    function = prod.function(HANDLER)

    assert function["Architectures"] == ["arm64"]
    assert function["Runtime"] == "python3.13"
    assert function["Environment"]["Variables"]["PYTHONTZPATH"] == ""


def test_the_function_is_told_its_tables_and_no_others(prod: Synthesis) -> None:
    variables = prod.function(HANDLER)["Environment"]["Variables"]

    assert {name for name in variables if name.endswith("_TABLE")} == {
        table_variable(name) for name in ("jobs", "job_schedules", "job_runs", "fleet", "access")
    }
    assert not [name for name in variables if name.endswith("_QUEUE_URL")]


def routes_of(synthesis: Synthesis) -> dict[str, str]:
    """Who is let in by each route."""
    routes = synthesis.of_type("AWS::ApiGatewayV2::Route").values()
    return {route["RouteKey"]: route["AuthorizationType"] for route in routes}


def test_api_gateway_checks_nobody_where_the_function_checks_keys(prod: Synthesis) -> None:
    assert routes_of(prod) == {"$default": "NONE"}
    assert not prod.of_type("AWS::ApiGatewayV2::Authorizer")
    assert prod.function(HANDLER)["Environment"]["Variables"]["CARILLON_AUTH"] == "keys"


def test_tokens_are_checked_by_api_gateway_on_every_route_that_is_not_open() -> None:
    auth = {"mode": "jwt", "issuer": "https://id.example.com", "audience": ["carillon"], "owner_claim": "tenant"}
    synthesis = synthesise("dev", auth=auth)
    authorizer = only(list(synthesis.of_type("AWS::ApiGatewayV2::Authorizer").values()))
    variables = synthesis.function(HANDLER)["Environment"]["Variables"]

    assert routes_of(synthesis) == {"$default": "JWT", "GET /v1/health": "NONE", "GET /v1/openapi.json": "NONE"}
    assert authorizer["JwtConfiguration"] == {"Issuer": "https://id.example.com", "Audience": ["carillon"]}
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert (variables["CARILLON_AUTH"], variables["CARILLON_OWNER_CLAIM"]) == ("jwt", "tenant")


def test_signatures_are_checked_by_api_gateway_on_every_route_that_is_not_open() -> None:
    synthesis = synthesise("dev", auth={"mode": "iam", "admins": ["role:Operator", "user:alice"]})
    variables = synthesis.function(HANDLER)["Environment"]["Variables"]

    assert routes_of(synthesis) == {"$default": "AWS_IAM", "GET /v1/health": "NONE", "GET /v1/openapi.json": "NONE"}
    assert (variables["CARILLON_AUTH"], variables["CARILLON_ADMINS"]) == ("iam", "role:Operator,user:alice")


def test_the_function_is_told_the_limits_of_an_owner_that_the_deployment_sets_and_else_has_its_own(
    prod: Synthesis,
) -> None:
    told = synthesise("dev", owner_limits={"requests_per_second": 20, "jobs": 5_000})
    variables = told.function(HANDLER)["Environment"]["Variables"]
    settings = read_settings({name: value for name, value in variables.items() if isinstance(value, str)})

    assert (settings.requests_per_second, settings.jobs_per_owner) == (20, 5_000)
    variables = prod.function(HANDLER)["Environment"]["Variables"]
    settings = read_settings({name: value for name, value in variables.items() if isinstance(value, str)})
    assert (settings.requests_per_second, settings.jobs_per_owner) == (REQUESTS_PER_SECOND, MAX_JOBS_OF_OWNER)


def test_a_stranger_uses_up_neither_the_accounts_rate_nor_its_concurrency(prod: Synthesis, chosen: Synthesis) -> None:
    def throttle(synthesis: Synthesis) -> object:
        return only(list(synthesis.of_type("AWS::ApiGatewayV2::Stage").values()))["DefaultRouteSettings"]

    assert throttle(prod) == {"ThrottlingRateLimit": 500, "ThrottlingBurstLimit": 1000}
    assert throttle(chosen) == {"ThrottlingRateLimit": 50, "ThrottlingBurstLimit": 80}
    assert chosen.function(HANDLER)["ReservedConcurrentExecutions"] == 20


def test_the_api_keeps_rows_as_long_as_nodes_and_workers_do_and_takes_what_the_deployment_takes(
    prod: Synthesis, chosen: Synthesis
) -> None:
    usual = read_settings(prod.function(HANDLER)["Environment"]["Variables"])
    other = read_settings(chosen.function(HANDLER)["Environment"]["Variables"])

    assert (usual.run_retention_ms, usual.payload_bytes) == (30 * DAY, MAX_PAYLOAD_BYTES)
    assert MAX_PAYLOAD_BYTES == MOST_PAYLOAD_BYTES
    assert (other.run_retention_ms, other.payload_bytes) == (60 * DAY, 4096)
