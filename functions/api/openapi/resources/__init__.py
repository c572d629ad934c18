"""What is said of each resource: its operations, each with a request that works, and the schemas of its answers."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import Operations
from functions.api.openapi.resources import access, bulk, fleet, jobs, runs, schedules, service
from functions.api.openapi.shapes import Schema

_RESOURCES: Final = (jobs, bulk, runs, schedules, access, fleet, service)
OPERATIONS: Final[Operations] = {
    route: operation for resource in _RESOURCES for route, operation in resource.OPERATIONS.items()
}
COMPONENTS: Final[dict[str, Schema]] = {
    name: schema for resource in _RESOURCES for name, schema in resource.SCHEMAS.items()
}
