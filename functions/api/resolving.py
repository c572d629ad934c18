"""One event of an HTTP API in (payload 2.0), one answer out; whatever fails becomes a problem+json.

gate        route, key, scope, body        before Powertools, which validates first and asks later
resolver    parameters, endpoint           Powertools with validation
responses   the answer, or the problem
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.api import audit
from functions.api.asked_runs import AskedRunRoutes
from functions.api.authenticating import authenticator_of
from functions.api.backend import Backend
from functions.api.backfills import BackfillRoutes
from functions.api.batches import BatchRoutes
from functions.api.bulk import BulkRoutes
from functions.api.documentation import DocumentationRoutes
from functions.api.editor import JobEditor
from functions.api.explanations import ExplainRoutes
from functions.api.failures import FailureRoutes
from functions.api.fleet import FleetRoutes
from functions.api.gate import CALL, Call, Gate, as_plain_json, request_id_of
from functions.api.grants import GrantRoutes
from functions.api.health import HealthRoutes
from functions.api.jobs import JobRoutes
from functions.api.keys import KeyRoutes
from functions.api.owners import OwnerRoutes
from functions.api.rates import Rates
from functions.api.refusals import RouteUnknown
from functions.api.responses import Answer, is_fault, problem
from functions.api.room import Room
from functions.api.routing import Route
from functions.api.run_changes import RunChangeRoutes
from functions.api.runs import RunRoutes
from functions.api.schedules import ScheduleRoutes
from functions.api.signing_keys import SigningKeyRoutes
from functions.api.validating import problems_of
from shared.domain.errors import InvalidRequest

Event = Mapping[str, Any]
Handler = Callable[[Event, Any], dict[str, Any]]


def routes_of(backend: Backend) -> list[Route]:
    editor = JobEditor(backend, Room(backend.jobs, backend.clock, backend.settings.jobs_per_owner))
    groups = (
        JobRoutes(backend, editor),
        BatchRoutes(backend, editor),
        BulkRoutes(backend, editor),
        RunRoutes(backend, editor),
        AskedRunRoutes(backend, editor),
        BackfillRoutes(backend, editor),
        RunChangeRoutes(backend, editor),
        FailureRoutes(backend),
        ExplainRoutes(backend, editor),
        OwnerRoutes(backend, editor),
        ScheduleRoutes(backend),
        KeyRoutes(backend),
        SigningKeyRoutes(backend),
        GrantRoutes(backend),
        FleetRoutes(backend),
        HealthRoutes(backend),
        DocumentationRoutes(),
    )
    return [route for group in groups for route in group.routes()]


def build(backend: Backend) -> Handler:
    """A handler over these stores; a process has one, a test as many as it likes."""
    routes = routes_of(backend)
    rates = Rates(backend.access, backend.clock, backend.settings.requests_per_second)
    gate = Gate(routes, authenticator_of(backend), rates)
    resolver = APIGatewayHttpResolver(enable_validation=True, debug=False)
    for route in routes:
        resolver.route(route.path, method=route.method)(route.endpoint)

    def explain(error: Exception) -> Answer:
        call: Call = resolver.context[CALL]
        if isinstance(error, RequestValidationError):
            # The first part of a location only says whether it is in the body, the path or the query.
            found = [{**each, "loc": each["loc"][1:]} for each in error.errors()]
            error = InvalidRequest(problems_of(found, call.route.model))
        if isinstance(error, NotFoundError):
            # A character that Powertools takes for no part of a path: there is nothing of that name.
            error = RouteUnknown(resolver.current_event.path)
        return _explained(error, call.request_id)

    resolver.exception_handler(Exception)(explain)

    def serve(event: Event, context: Any) -> dict[str, Any]:
        proxy = APIGatewayProxyEventV2(dict(event))
        try:
            call = gate.admit(proxy)
        except Exception as error:  # noqa: BLE001 (the Lambda's edge)
            return _as_event(_explained(error, request_id_of(event)))
        resolver.append_context(**{CALL: call})  # type: ignore[no-untyped-call]
        return resolver.resolve(as_plain_json(event, call.body), context)

    def handle(event: Event, context: Any) -> dict[str, Any]:
        answered = serve(event, context)
        # Before the answer is given: a function is frozen after it.
        backend.announcements.publish_once()
        backend.metrics.put(backend.announcements.measured(), at=backend.clock.now())
        return answered

    return handle


def _explained(error: Exception, request_id: str) -> Answer:
    if is_fault(error):
        audit.record_fault(error, request_id)
    return problem(error, request_id)


def _as_event(answer: Answer) -> dict[str, Any]:
    """As the resolver does it, for answers that never reach it."""
    headers = {name: value for name, value in answer.headers.items() if isinstance(value, str)}
    return {
        "statusCode": answer.status_code,
        "body": answer.body,
        "isBase64Encoded": False,
        "headers": headers,
        "cookies": [],
    }
