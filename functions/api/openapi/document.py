from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from http import HTTPStatus
from typing import Any, Final

from functions.api.openapi.answers import example_of
from functions.api.openapi.links import links_of
from functions.api.openapi.operation import Operation
from functions.api.openapi.parameters import parameters_of
from functions.api.openapi.resources import COMPONENTS, OPERATIONS
from functions.api.openapi.shapes import JOB_ID_SCHEMA, Schema, nullable, ref
from functions.api.requests import CreateJob
from functions.api.routing import PATCH_BODY, Route

_ABOUT: Final = (
    "Jobs are one-time or recurring; each fires at its instant and calls its target at least once. Instants are RFC "
    "3339 in UTC, durations ISO 8601. Errors are problems by RFC 9457. Every answer says `Cache-Control: no-store` and "
    "`X-Content-Type-Options: nosniff`."
)
_TAGS: Final = ("jobs", "bulk", "runs", "schedules", "access", "fleet", "service")
_SECURITY: Final[Schema] = {
    "type": "http",
    "scheme": "bearer",
    "description": (
        "An API key, `crl_<key_id>_<secret>`; a JWT, or a request signed for IAM instead, where the deployment says "
        "so. A key has exactly the scopes it lists: read, write, admin."
    ),
}
_WITH_ETAG: Final = frozenset({"createJob", "getJob", "putJob", "patchJob", "pauseJob", "resumeJob"})
_WITH_LOCATION: Final = frozenset({201, 202})
_LOCATED: Final = frozenset({"createJob", "putJob", "runJob"})


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Raises KeyError for a route that nothing is said of in `resources`."""
    routes = list(routes)
    schemas = deepcopy(COMPONENTS)
    for route in routes:
        if route.model is not None:
            _add_model(schemas, route.model.model_json_schema(ref_template="#/components/schemas/{model}"))
    schemas["JobPatch"] = _patch_of(schemas)
    paths: dict[str, Any] = {}
    for route in routes:
        path = re.sub(r"<(\w+)>", r"{\1}", route.path)
        operation = OPERATIONS[route.method, route.path]
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Carillon", "version": "1", "description": _ABOUT, "license": {"name": "Apache-2.0"}},
        "tags": [{"name": name} for name in _TAGS],
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items())), "securitySchemes": {"key": _SECURITY}},
    }


def _operation(route: Route, operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": operation.name, "tags": [operation.tag], "summary": operation.summary}
    if operation.description:
        found["description"] = operation.description
    parameters = parameters_of(route, operation)
    if parameters:
        found["parameters"] = parameters
    if route.body:
        found["requestBody"] = _body(route, operation)
    found["security"] = [] if route.scope is None else [{"key": []}]
    found["responses"] = _responses(route, operation)
    if route.scope is not None:
        found["x-scope"] = str(route.scope)
    return found


def _body(route: Route, operation: Operation) -> dict[str, Any]:
    name = operation.body or (route.model.__name__ if route.model else "")
    content = {"schema": ref(name), "example": operation.example}
    return {"required": not route.is_body_optional, "content": dict.fromkeys(sorted(route.body), content)}


def _responses(route: Route, operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status in (operation.status, *operation.also):
        found[str(status)] = _answer(operation, status)
    problems = {400, *operation.problems}
    if route.scope is not None:
        problems |= {401, 403, 429, 500, 503}
    if route.body:
        problems |= {413, 415}
    for status in problems:
        found[str(status)] = _problem(status)
    return dict(sorted(found.items()))


def _answer(operation: Operation, status: int) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": HTTPStatus(status).phrase,
        "content": {
            "application/json": {
                "schema": ref(operation.answer),
                "example": example_of(COMPONENTS[operation.answer], COMPONENTS),
            }
        },
    }
    headers = {}
    if operation.name in _WITH_ETAG:
        headers["ETag"] = {"schema": {"type": "string"}, "description": "The revision, quoted."}
    if operation.name in _LOCATED and status in _WITH_LOCATION:
        headers["Location"] = {"schema": {"type": "string"}}
    if headers:
        answer["headers"] = headers
    links = links_of(operation.name)
    if links:
        answer["links"] = links
    return answer


def _problem(status: int) -> dict[str, Any]:
    problem: dict[str, Any] = {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": ref("Problem")}},
    }
    if status in {429, 503}:
        problem["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return problem


def _add_model(schemas: dict[str, Schema], model: Schema) -> None:
    """The schema of a request, with what the domain reads itself in its place."""
    parts = model.pop("$defs", {})
    for name, schema in (*parts.items(), (model["title"], model)):
        schema.pop("title", None)
        for member, shape in schema.get("properties", {}).items():
            shape.pop("title", None)
            if member in {"schedule", "target"}:
                schema["properties"][member] = ref(member.capitalize())
            if member == "job_id":
                schema["properties"][member] = nullable(JOB_ID_SCHEMA)
        schemas[name] = schema
    if "items" in model.get("properties", {}):
        model["properties"]["items"]["items"] = ref(CreateJob.__name__)


def _patch_of(schemas: dict[str, Schema]) -> Schema:
    """The members of a job, each of which may be left out, or null."""
    job = schemas[CreateJob.__name__]
    members = {name: _nullable_part(schemas, shape) for name, shape in job["properties"].items()}
    about = f"RFC 7396, also as {PATCH_BODY[-1]}."
    return {"description": about, "type": "object", "properties": members, "additionalProperties": False}


def _nullable_part(schemas: dict[str, Schema], shape: Schema) -> Schema:
    name = str(shape.get("$ref", "")).rpartition("/")[2]
    if name in {"Schedule", "Target"}:
        # A part of one is enough: what is left out stays.
        return {"type": ["object", "null"], "description": f"Members of a {name}."}
    if name:
        part = {key: value for key, value in schemas[name].items() if key != "required"}
        return {"anyOf": [part, {"type": "null"}]}
    plain = {key: value for key, value in shape.items() if key != "default"}
    return {"anyOf": [plain, {"type": "null"}]}
