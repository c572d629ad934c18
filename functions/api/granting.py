"""Whether an owner may call what a job is about to call: asked when a target is stored, and again before each run."""

from __future__ import annotations

from functions.api.backend import Backend
from functions.api.requests import EXAMPLES
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.grants import NotGranted
from shared.domain.job import Job
from shared.domain.targets import uses_of


def check_granted(backend: Backend, job: Job, previous: Job | None) -> None:
    """Nothing is asked while the target stays as it is: a job can always be paused, renamed or cancelled.

    Raises InvalidRequest, StoreError.
    """
    if previous is not None and not previous.state.has_ended and previous.target == job.target:
        return
    uses = uses_of(job.target, region=backend.region)
    if job.state.has_ended or not any(map(backend.grant_rules.needs_grant, uses)):
        return
    judged = backend.grant_rules.judge(uses, backend.access.grants(job.owner_id))
    if isinstance(judged, NotGranted):
        problem = FieldProblem(judged.use.pointer, f"not granted: {judged.detail}", EXAMPLES["#/target"])
        raise InvalidRequest(problem.under("target"))
