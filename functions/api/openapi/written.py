"""The document as it is committed."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from functions.api.documentation import PATH
from functions.api.openapi.document import document
from functions.api.resolving import routes_of

__all__ = ["PATH", "text"]

_INDENT: Final = 1


def text() -> str:
    # Routes are asked for no more than their names: no store is called.
    found: dict[str, Any] = document(routes_of(cast("Any", _NoBackend())))
    return json.dumps(found, indent=_INDENT, ensure_ascii=False) + "\n"


class _NoBackend:
    def __getattr__(self, name: str) -> Any:
        del name
        return self
