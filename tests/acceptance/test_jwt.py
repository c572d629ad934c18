"""An environment with tokens: the CDK app as it is deployed with `auth.mode` jwt, and an issuer on loopback.

Who verifies a token is API Gateway, so its answers to a bad one are no problem documents. The emulator verifies as AWS
does but for one thing: it lets a token without `exp` through, which the API then refuses itself. Only the emulator
runs, without nodes and workers: nothing fires here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localstack.deploy import deploy
from localstack.readiness import wait_for_api
from localstack.running import Stack
from localstack.workspace import Workspace
from tests.acceptance.issuer import AUDIENCE, KEY_ID, Issuer, encoded, issuer, new_key, unsigned
from tests.acceptance.raw import RawClient
from tests.acceptance.waiting import unique
from tests.emulator import running_emulator

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

FOLDER = Path(__file__).parents[2] / ".local" / "jwt"
JOB = {"schedule": {"in": "PT1H"}, "target": {"type": "handler", "name": "echo"}}


@pytest.fixture(scope="module")
def identity() -> Iterator[Issuer]:
    with issuer() as running:
        yield running


@pytest.fixture(scope="module")
def stack(identity: Issuer) -> Iterator[Stack]:
    """Of this module alone, and without tasks."""
    auth = {"mode": "jwt", "issuer": identity.url, "audience": [AUDIENCE], "owner_claim": "tenant"}
    workspace = Workspace(FOLDER)
    with running_emulator(FOLDER) as endpoint:
        deployed = Stack(workspace, endpoint, deploy(workspace, endpoint, settings={"auth": auth}), key="")
        wait_for_api(f"{deployed.api_url}/v1/health")
        yield deployed


@pytest.fixture
def api(stack: Stack) -> str:
    """Its address."""
    return stack.api_url


def test_a_good_token_acts_on_the_things_of_the_owner_that_its_claim_names(api: str, identity: Issuer) -> None:
    job_id = unique("token")
    acme = RawClient(api, identity.token())
    created = acme.call("PUT", f"/v1/jobs/{job_id}", JOB)
    assert (created.status, created.body["created_by"]) == (201, "jwt:auth0|42")
    assert acme.get(f"/v1/jobs/{job_id}").status == 200
    colleague = RawClient(api, identity.token(sub="auth0|43", scope="carillon/read"))
    assert colleague.get(f"/v1/jobs/{job_id}").status == 200
    assert colleague.delete(f"/v1/jobs/{job_id}").status == 403
    stranger = RawClient(api, identity.token(tenant="globex"))
    assert stranger.get(f"/v1/jobs/{job_id}").status == 404
    assert stranger.get("/v1/jobs").body["items"] == []
    assert stranger.get("/v1/jobs?owner_id=acme").status == 403
    admin = RawClient(api, identity.token(tenant="operators", scope="read admin"))
    assert admin.get(f"/v1/jobs/{job_id}?owner_id=acme").status == 200
    # The keys came by discovery.
    assert {"/.well-known/openid-configuration", "/keys"} <= set(identity.seen)


@pytest.mark.parametrize("audience", [AUDIENCE, ["other", AUDIENCE]], ids=str)
def test_one_audience_of_several_is_enough(api: str, identity: Issuer, audience: object) -> None:
    assert RawClient(api, identity.token(aud=audience)).get("/v1/jobs").status == 200


def tampered(token: str, identity: Issuer) -> str:
    """The signature of a good token under other claims."""
    header, _, signature = token.split(".")
    return (
        f"{header}.{unsigned({}, identity.claims(tenant='globex', scope='read write admin')).split('.')[1]}.{signature}"
    )


BAD: dict[str, Callable[[Issuer], str]] = {
    "expired": lambda identity: identity.token(exp=int(time.time()) - 1),
    "not valid yet": lambda identity: identity.token(nbf=int(time.time()) + 600),
    "without a signature, by alg none": lambda identity: (
        unsigned({"alg": "none", "typ": "JWT", "kid": KEY_ID}, identity.claims()) + "."
    ),
    "signed by nobody, by alg none": lambda identity: (
        unsigned({"alg": "none", "typ": "JWT", "kid": KEY_ID}, identity.claims()) + f".{encoded(b'x' * 256)}"
    ),
    "signed with the public key": lambda identity: identity.token_by_public_key(),
    "of another issuer": lambda identity: identity.token(iss="https://id.example.com"),
    "without an issuer": lambda identity: identity.token(iss=None),
    "for another audience": lambda identity: identity.token(aud="billing"),
    "for no audience": lambda identity: identity.token(aud=None),
    "signed with another key of the same name": lambda identity: identity.token(key=new_key()),
    "signed with a key that the issuer has not": lambda identity: identity.token(key=new_key(), key_id="signer-2"),
    "with other claims than were signed": lambda identity: tampered(identity.token(), identity),
    "cut off": lambda identity: identity.token()[:-8],
    "cut off before its signature": lambda identity: identity.token().rpartition(".")[0],
    "no token": lambda _: "nonsense",
    "a key": lambda _: f"crl_0123456789ab_{'A' * 43}",
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_token_opens_nothing(api: str, identity: Issuer, bad: str) -> None:
    caller = RawClient(api, BAD[bad](identity))
    assert caller.get("/v1/jobs").status == 401
    assert caller.call("PUT", f"/v1/jobs/{unique('bad')}", JOB).status == 401
    assert RawClient(api, identity.token(tenant="globex")).get("/v1/jobs").body["items"] == []


def test_without_a_token_only_what_is_open_answers(api: str) -> None:
    anybody = RawClient(api, None)
    assert [anybody.get(path).status for path in ("/v1/health", "/v1/openapi.json", "/v1/jobs")] == [200, 200, 401]


@pytest.mark.parametrize(
    "claims",
    [{"exp": None}, {"tenant": None}, {"tenant": "a/b"}, {"tenant": ""}],
    ids=["without an end", "without an owner", "of what is no owner", "of an empty owner"],
)
def test_a_token_that_was_verified_and_names_no_owner_or_no_end_is_a_problem(
    api: str, identity: Issuer, claims: dict[str, Any]
) -> None:
    answer = RawClient(api, identity.token(**claims)).get("/v1/jobs")
    assert (answer.status, answer.headers["content-type"]) == (401, "application/problem+json")
    assert answer.body["type"].endswith("#errors-not-identified")


def test_a_token_has_the_scopes_that_it_claims_and_no_others(api: str, identity: Issuer) -> None:
    reader = RawClient(api, identity.token(scope="openid read"))
    assert reader.get("/v1/jobs").status == 200
    refused = reader.call("PUT", f"/v1/jobs/{unique('scope')}", JOB)
    assert (refused.status, refused.body["type"].rpartition("#")[2]) == (403, "errors-scope-missing")
    assert RawClient(api, identity.token(scope=None)).get("/v1/jobs").status == 403
