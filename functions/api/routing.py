"""Which request goes where, and what it needs to be let in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from functions.api.refusals import MethodUnknown, RouteUnknown
from functions.api.responses import Answer
from shared.domain.access import Scope
from shared.domain.limits import MAX_BODY_BYTES

JSON_BODY = ("application/json",)
PATCH_BODY = ("application/merge-patch+json", "application/json")

_PARAMETER = re.compile(r"<\w+>")


@dataclass(frozen=True, slots=True)
class Route:
    """`scope` None is open to all. `body` lists the media types taken; a route without any takes no body."""

    method: str
    path: str
    endpoint: Callable[..., Answer]
    scope: Scope | None
    body: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    #: What the members of the body are, for messages about unknown ones.
    model: type[BaseModel] | None = None
    #: A body may be left out; it then counts as an empty object.
    is_body_optional: bool = False
    max_body_bytes: int = MAX_BODY_BYTES

    @property
    def parameters(self) -> list[str]:
        """The names of the parts of the path that vary."""
        return [name[1:-1] for name in _PARAMETER.findall(self.path)]

    def fits(self, path: str) -> bool:
        # Powertools would let a line break stand at the end of a path, and a job_id hold almost anything.
        return re.fullmatch(_PARAMETER.sub(r"[^/\\s]+", re.escape(self.path)), path) is not None


def route_of(routes: Sequence[Route], method: str, path: str) -> Route:
    """Raises RouteUnknown, or MethodUnknown (Powertools would answer 404 without `Allow`)."""
    # What is written out goes before what varies: no job is called like a route.
    fitting = [route for route in routes if route.path == path] or [route for route in routes if route.fits(path)]
    for route in fitting:
        if route.method == method:
            return route
    if fitting:
        raise MethodUnknown(method, {route.method for route in fitting})
    raise RouteUnknown(path)
