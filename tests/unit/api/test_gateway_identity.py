"""Callers that API Gateway has checked, by events as it makes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.api.settings import ApiSettings, SettingRefused, read_settings
from shared.domain.access import Scope
from tests.unit.api.world import JOB, Reply, World, event_of

JWT = ApiSettings(authentication="jwt", owner_claim="tenant")
IAM = ApiSettings(authentication="iam", owner_claim="account", admins=frozenset({"role:Operator"}))
CLAIMS = {
    "sub": "auth0|42",
    "tenant": "acme",
    "scope": "read write",
    "iss": "https://issuer",
    "aud": "carillon",
    "exp": "1795741200",
}


def send(
    world: World, authorizer: dict[str, Any] | None, method: str = "GET", path: str = "/v1/jobs", body: object = None
) -> Reply:
    event = event_of(method, path, body, query="", headers={"authorization": f"Bearer {world.key_text}"})
    event["requestContext"]["accountId"] = "123456789012"
    if authorizer is not None:
        event["requestContext"]["authorizer"] = authorizer
    raw = world.handler(event, None)
    return Reply(raw["statusCode"], {name.lower(): value for name, value in raw["headers"].items()}, raw["body"])


def jwt(**claims: Any) -> dict[str, Any]:
    return {"jwt": {"claims": {**CLAIMS, **claims}, "scopes": None}}


def iam(arn: str, account: str = "123456789012") -> dict[str, Any]:
    return {"iam": {"userArn": arn, "accountId": account, "callerId": "AIDA", "userId": "AIDA", "accessKey": "AKIA"}}


def test_the_claim_of_a_token_says_whose_jobs_it_touches() -> None:
    world = World(settings=JWT)
    created = send(world, jwt(), "POST", "/v1/jobs", JOB)
    assert (created.status, created.json["created_by"]) == (201, "jwt:auth0|42")
    assert list(world.tables.jobs) == ["acme/nightly-report"]
    assert send(world, jwt(tenant="globex"), path="/v1/jobs/nightly-report").status == 404


@pytest.mark.parametrize(
    ("scope", "scopes"),
    [
        ("read", {"read"}),
        ("carillon/read carillon/write", {"read", "write"}),
        ("openid carillon:admin", {"admin"}),
        ("[read write]", {"read", "write"}),
        ("read,admin", {"read", "admin"}),
        ("other/read readonly administrator xread", set()),
        ("", set()),
        (None, set()),
    ],
)
def test_scopes_are_read_from_the_token(scope: str | None, scopes: set[str]) -> None:
    world = World(settings=JWT)
    allowed = {
        "read": send(world, jwt(scope=scope)).status == 200,
        "write": send(world, jwt(scope=scope), "POST", "/v1/jobs", JOB).status == 201,
        "admin": send(world, jwt(scope=scope), path="/v1/fleet").status == 200,
    }
    assert {name for name, is_allowed in allowed.items() if is_allowed} == scopes
    assert {Scope(name) for name in scopes} <= set(Scope)


@pytest.mark.parametrize(
    "authorizer",
    [
        None,
        {},
        {"jwt": None},
        {"jwt": {}},
        {"lambda": {"claims": CLAIMS}},
        jwt(tenant=""),
        jwt(tenant="a/b"),
        jwt(tenant="a#0"),
        jwt(tenant="a" * 65),
        jwt(tenant=None),
        jwt(tenant=True),
        jwt(tenant=["acme"]),
        {"jwt": {"claims": {"sub": "x", "scope": "read"}}},
        iam("arn:aws:iam::123456789012:user/x"),
    ],
    ids=str,
)
def test_without_a_token_that_was_checked_nobody_is_let_in(authorizer: dict[str, Any] | None) -> None:
    reply = send(World(settings=JWT), authorizer)
    assert reply.status == 401
    assert reply.headers["content-type"] == "application/problem+json"


def test_an_api_key_is_worth_nothing_where_tokens_are_asked_for_and_the_other_way_round() -> None:
    assert World(settings=JWT).send("GET", "/v1/jobs").status == 401
    world = World()
    assert send(world, jwt(tenant="globex"), "POST", "/v1/jobs", JOB).status == 201
    assert list(world.tables.jobs) == ["acme/nightly-report"]


#: The clock of the tests stands at 1795737600.
@pytest.mark.parametrize("end", ["1795737601", "1795737600.5", "1.795737601E9", 1_795_737_601])
def test_a_token_is_good_until_it_ends(end: object) -> None:
    assert send(World(settings=JWT), jwt(exp=end)).status == 200


@pytest.mark.parametrize("end", ["1795737600", "0", "-1", "", "soon", "nan", "inf", "1e999", None, {}, 1_795_737_600])
def test_a_token_that_has_ended_or_never_ends_is_refused_though_the_gateway_let_it_in(end: object) -> None:
    world = World(settings=JWT)
    reply = send(world, jwt(exp=end))
    assert (reply.status, reply.json["type"].rpartition("#")[2]) == (401, "errors-not-identified")
    del (without := jwt())["jwt"]["claims"]["exp"]
    assert send(world, without).status == 401


ROLE = "arn:aws:sts::123456789012:assumed-role/Deployer/session-1"
ADMIN = "arn:aws:sts::123456789012:assumed-role/Operator/me"
FOREIGN = "arn:aws:sts::999999999999:assumed-role/Operator/me"
USER = "arn:aws:iam::123456789012:user/team/alice"


@pytest.mark.parametrize(
    ("claim", "arn", "owner_id", "by"),
    [
        ("account", ROLE, "123456789012", "iam:role:Deployer"),
        ("principal", ROLE, "role:Deployer", "iam:role:Deployer"),
        ("principal", USER, "user:alice", "iam:user:alice"),
        ("principal", FOREIGN, "999999999999:role:Operator", "iam:999999999999:role:Operator"),
    ],
)
def test_a_signature_says_whose_jobs_it_touches(claim: str, arn: str, owner_id: str, by: str) -> None:
    world = World(settings=ApiSettings(authentication="iam", owner_claim=claim))
    created = send(world, iam(arn), "POST", "/v1/jobs", JOB)
    assert (created.status, created.json["created_by"]) == (201, by)
    assert list(world.tables.jobs) == [f"{owner_id}/nightly-report"]


def test_only_the_principals_that_are_named_are_admins() -> None:
    world = World(settings=IAM)
    assert send(world, iam(ADMIN), path="/v1/fleet").status == 200
    assert send(world, iam(ROLE), path="/v1/fleet").status == 403
    assert send(world, iam("arn:aws:iam::123456789012:user/Operator"), path="/v1/fleet").status == 403
    # A session that calls itself like the role is not it.
    assert send(world, iam("arn:aws:sts::123456789012:assumed-role/Deployer/Operator"), path="/v1/fleet").status == 403


def test_a_role_of_another_account_is_not_the_admin_of_that_name() -> None:
    assert send(World(settings=IAM), iam(FOREIGN, "999999999999"), path="/v1/fleet").status == 403
    named = replace(IAM, admins=frozenset({"999999999999:role:Operator"}))
    assert send(World(settings=named), iam(FOREIGN, "999999999999"), path="/v1/fleet").status == 200


@pytest.mark.parametrize("arn", ["", "x", None], ids=str)
def test_an_arn_that_names_nobody_is_no_owner(arn: Any) -> None:
    world = World(settings=ApiSettings(authentication="iam", owner_claim="principal"))
    assert send(world, iam(arn)).status == 401


@pytest.mark.parametrize("authorizer", [None, {"iam": None}, {"iam": {}}, jwt()], ids=str)
def test_without_a_signature_that_was_checked_nobody_is_let_in(authorizer: dict[str, Any] | None) -> None:
    assert send(World(settings=IAM), authorizer).status == 401


def test_settings_are_read_from_the_environment() -> None:
    assert read_settings({}) == ApiSettings()
    read = read_settings({"CARILLON_AUTH": "iam", "CARILLON_ADMINS": "A,B,", "CARILLON_REQUESTS_PER_SECOND": "7"})
    assert (read.owner_claim, read.admins, read.requests_per_second) == ("account", frozenset({"A", "B"}), 7)
    assert read_settings({"CARILLON_AUTH": "jwt", "CARILLON_OWNER_CLAIM": "tenant"}).owner_claim == "tenant"


@pytest.mark.parametrize(
    "environment",
    [
        {"CARILLON_AUTH": "none"},
        {"CARILLON_AUTH": "iam", "CARILLON_OWNER_CLAIM": "sub"},
        {"CARILLON_REQUESTS_PER_SECOND": "0"},
        {"CARILLON_JOBS_PER_OWNER": "many"},
    ],
)
def test_a_setting_that_means_nothing_ends_the_process(environment: dict[str, str]) -> None:
    with pytest.raises(SettingRefused, match=next(reversed(environment))):
        read_settings(environment)
