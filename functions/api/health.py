"""Route of health: open, and without a look at any table, so that it costs and reveals nothing."""

from __future__ import annotations

from dataclasses import dataclass

from functions.api.backend import Backend
from functions.api.responses import Answer, answer
from functions.api.routing import Route
from shared.domain.schedules import tzdata_version


@dataclass(frozen=True, slots=True)
class HealthRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        return [Route("GET", "/v1/health", self.health, scope=None)]

    def health(self) -> Answer:
        return answer({"status": "ok", "version": self.backend.version, "tzdata": tzdata_version()})
