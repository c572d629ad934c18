"""Whether a job may call what it is about to call: asked when its target is stored, and again before each run."""

from __future__ import annotations

from urllib.parse import urlsplit

from functions.api.backend import Backend
from functions.api.handlers import check_handler
from functions.api.requests import EXAMPLES
from shared.domain.addresses import is_internal, refusal_of_literal
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.grants import NotGranted
from shared.domain.job import Job
from shared.domain.targets import uses_of
from shared.domain.targets.http import EXAMPLE_URL

_PORTS = {"http": 80, "https": 443}


def check_granted(backend: Backend, job: Job, previous: Job | None) -> None:
    """Nothing is asked while the target stays as it is: a job can always be paused, renamed or cancelled.

    Raises InvalidRequest, StoreError.
    """
    is_kept = previous is not None and not previous.state.has_ended and previous.target == job.target
    if is_kept or job.state.has_ended:
        return
    check_handler(job.target, backend.settings.handlers)
    _check_address(backend, job)
    uses = uses_of(job.target, region=backend.region)
    if not any(map(backend.grant_rules.needs_grant, uses)):
        return
    judged = backend.grant_rules.judge(uses, backend.access.grants(job.owner_id))
    if isinstance(judged, NotGranted):
        problem = FieldProblem(judged.use.pointer, f"not granted: {judged.detail}", EXAMPLES["#/target"])
        raise InvalidRequest(problem.under("target"))


def _check_address(backend: Backend, job: Job) -> None:
    """A host that is an address is judged here already; what a name leads to is known only when it is connected to."""
    if job.target["type"] != "http":
        return
    parts = urlsplit(job.target["url"])
    host = parts.hostname or ""
    refusal = refusal_of_literal(host)
    if refusal is not None and not is_internal(backend.internal_targets, host, parts.port or _PORTS[parts.scheme]):
        detail = f"{host} is no public address: {refusal}; a deployment opens it by its setting internal_targets"
        raise InvalidRequest(FieldProblem("#/target/url", detail, EXAMPLE_URL))
