"""Route of the OpenAPI document: open, and read from the file that is committed beside the code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from functions.api.responses import Answer, answer
from functions.api.routing import Route

PATH: Final = Path(__file__).with_name("openapi.json")


@dataclass(frozen=True, slots=True)
class DocumentationRoutes:
    def routes(self) -> list[Route]:
        return [Route("GET", "/v1/openapi.json", self.openapi, scope=None)]

    def openapi(self) -> Answer:
        return answer(_document())


@cache
def _document() -> Any:
    return json.loads(PATH.read_text(encoding="utf-8"))
