"""The client says what the API says: every route, every kind of problem, every member of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NotRequired, get_origin, get_type_hints

import pytest

from carillon.client import Client, access_documents, errors, fleet_documents, job_documents, run_documents
from carillon.client.errors import KINDS, STATUSES, Problem, problem_of
from functions.api.openapi.resources import COMPONENTS
from functions.api.resolving import routes_of
from functions.api.responses import KINDS as API_KINDS
from functions.api.responses import PROBLEMS_URL
from functions.api.routing import route_of
from tests.unit.api.world import World
from tests.unit.client.api import HTTP, NIGHTLY, URL, InProcess

NEW: Final[Any] = {"schedule": NIGHTLY, "target": HTTP}

#: A call for each route.
CALLS: Final[Mapping[tuple[str, str], Callable[[Client], object]]] = {
    ("POST", "/v1/jobs"): lambda client: client.create_job(**NEW),
    ("GET", "/v1/jobs"): lambda client: list(client.list_jobs()),
    ("POST", "/v1/jobs/batch"): lambda client: list(client.create_jobs([NEW])),
    ("POST", "/v1/jobs:pause"): lambda client: client.pause_jobs(group="a"),
    ("POST", "/v1/jobs:resume"): lambda client: client.resume_jobs(group="a"),
    ("POST", "/v1/jobs:cancel"): lambda client: client.cancel_jobs(group="a"),
    ("GET", "/v1/jobs/<job_id>"): lambda client: client.get_job("a"),
    ("PUT", "/v1/jobs/<job_id>"): lambda client: client.put_job("a", **NEW),
    ("PATCH", "/v1/jobs/<job_id>"): lambda client: client.update_job("a", name="b"),
    ("DELETE", "/v1/jobs/<job_id>"): lambda client: client.delete_job("a"),
    ("POST", "/v1/jobs/<job_id>/pause"): lambda client: client.pause("a"),
    ("POST", "/v1/jobs/<job_id>/resume"): lambda client: client.resume("a"),
    ("GET", "/v1/jobs/<job_id>/explain"): lambda client: client.explain("a"),
    ("POST", "/v1/jobs/<job_id>/runs"): lambda client: client.run_now("a"),
    ("POST", "/v1/jobs/<job_id>/backfills"): lambda client: client.backfill("a", since="2026-11-20T00:00:00Z"),
    ("GET", "/v1/jobs/<job_id>/runs"): lambda client: list(client.runs("a")),
    ("GET", "/v1/jobs/<job_id>/runs/<run_id>"): lambda client: client.get_run("a", "b"),
    ("POST", "/v1/jobs/<job_id>/runs/<run_id>/cancel"): lambda client: client.cancel_run("a", "b"),
    ("POST", "/v1/jobs/<job_id>/runs/<run_id>/retry"): lambda client: client.retry_run("a", "b"),
    ("GET", "/v1/runs"): lambda client: list(client.failed_runs()),
    ("POST", "/v1/redrives"): lambda client: client.redrive(everything=True),
    ("POST", "/v1/schedules/preview"): lambda client: client.preview(NIGHTLY),
    ("GET", "/v1/keys"): lambda client: list(client.list_keys()),
    ("POST", "/v1/keys"): lambda client: client.create_key(scopes=["read"]),
    ("DELETE", "/v1/keys/<key_id>"): lambda client: client.revoke_key("a"),
    ("GET", "/v1/signing-keys"): lambda client: list(client.list_signing_keys()),
    ("POST", "/v1/signing-keys"): lambda client: client.create_signing_key(),
    ("DELETE", "/v1/signing-keys/<key_id>"): lambda client: client.delete_signing_key("a"),
    ("GET", "/v1/grants"): lambda client: list(client.list_grants()),
    ("POST", "/v1/grants"): lambda client: client.create_grant(target_type="http", resource="example.com"),
    ("DELETE", "/v1/grants/<grant_id>"): lambda client: client.delete_grant("a"),
    ("GET", "/v1/fleet"): lambda client: client.fleet(),
    ("PUT", "/v1/fleet/firing"): lambda client: client.set_firing(on=True),
    ("POST", "/v1/owners/<owner_id>/erase"): lambda client: client.erase_owner("a"),
    ("GET", "/v1/health"): lambda client: client.health(),
    ("GET", "/v1/openapi.json"): lambda client: client.openapi(),
}
#: The schema of an answer, and how the client types it.
TYPES: Final[Mapping[str, type]] = {
    "Job": job_documents.Job,
    "Cancellation": job_documents.Cancellation,
    "Run": run_documents.Run,
    "BackfillResult": run_documents.Backfill,
    "RedriveResult": run_documents.Redrive,
    "Explanation": run_documents.Explanation,
    "Key": access_documents.Key,
    "NewKey": access_documents.NewKey,
    "NewSigningKey": access_documents.NewSigningKey,
    "Grant": access_documents.Grant,
    "Fleet": fleet_documents.Fleet,
    "Health": fleet_documents.Health,
}
#: The same for items of a list.
ITEMS: Final[Mapping[str, type]] = {
    "BatchResult": job_documents.BatchItem,
    "BulkResult": job_documents.BulkItem,
    "BackfillResult": run_documents.BackfilledSlot,
    "RedriveResult": run_documents.RedrivenRun,
    "PreviewedSlots": run_documents.PreviewedSlot,
    "SigningKeys": access_documents.SigningKey,
}
ROUTES: Final = routes_of(World().backend())


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_has_a_method_that_calls_it(route: Any) -> None:
    world = World()
    transport = InProcess(world.handler)
    try:
        CALLS[route.method, route.path](Client(URL, world.key_text, transport=transport))
    except errors.NotFound as problem:
        assert not isinstance(problem, errors.UnknownRoute)  # noqa: PT017 - most calls are about what is not there
    except errors.InvalidRequest as problem:
        pytest.fail(f"{problem} {problem.errors}")
    called = transport.requests[0]
    assert route_of(ROUTES, called.method, called.url.path).path == route.path


def test_the_client_knows_every_kind_of_problem() -> None:
    for _, kind in API_KINDS:
        document = {"type": PROBLEMS_URL + kind.slug, "status": int(kind.status), "title": kind.title}
        problem = problem_of(int(kind.status), document)
        assert kind.slug in KINDS
        assert problem.kind == kind.slug
        family = STATUSES.get(int(kind.status), Problem)
        assert isinstance(problem, family) or int(kind.status) == 503


def test_a_kind_that_is_newer_than_the_client_is_one_of_its_status() -> None:
    assert type(problem_of(409, {"type": PROBLEMS_URL + "too-loud"})) is errors.Conflict
    assert type(problem_of(418, {})) is Problem


@pytest.mark.parametrize("name", TYPES)
def test_an_answer_is_typed_with_all_its_members(name: str) -> None:
    assert_same_members(TYPES[name], COMPONENTS[name])


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_is_typed_with_all_its_members(name: str) -> None:
    assert_same_members(ITEMS[name], COMPONENTS[name]["properties"]["items"]["items"])


def assert_same_members(typed: type, schema: Mapping[str, Any]) -> None:
    members = get_type_hints(typed, include_extras=True)
    assert set(members) == set(schema["properties"])
    optional = {name for name, hint in members.items() if get_origin(hint) is NotRequired}
    assert set(members) - optional == set(schema["required"])
