"""One item of many: it may fail while the others do not."""

from __future__ import annotations

from functions.api import audit
from functions.api.bodies import Document
from functions.api.responses import is_fault, problem_document
from shared.domain.errors import CarillonError
from shared.domain.limits import MAX_PROBLEMS


def failed_item(error: CarillonError, request_id: str, *, most_problems: int = MAX_PROBLEMS) -> Document:
    if is_fault(error):
        audit.record_fault(error, request_id)
    document = problem_document(error, request_id, most_problems=most_problems)
    return {"status": document["status"], "problem": document}
