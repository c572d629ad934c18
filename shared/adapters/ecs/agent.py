"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html"""

from __future__ import annotations

from typing import Any

import urllib3

from shared.adapters.ecs.service import EcsService
from shared.domain.errors import OutcomeUnknown, WriteRefused

_OPERATION = "ecs.task_protection"
_OK = 200
_TIMEOUT = urllib3.Timeout(total=2.0)


class EcsAgent:
    """`uri` is what ECS gives each container as ECS_AGENT_URI. Of no `service` it is never superseded."""

    def __init__(self, uri: str, service: EcsService | None = None) -> None:
        self._service = service
        self._url = f"{uri.rstrip('/')}/task-protection/v1/state"
        # No proxy of the environment stands between a container and its agent.
        self._http = urllib3.PoolManager(retries=False, timeout=_TIMEOUT)

    def protect(self, *, minutes: int) -> None:
        self._put({"ProtectionEnabled": True, "ExpiresInMinutes": minutes})

    def release(self) -> None:
        self._put({"ProtectionEnabled": False})

    def is_superseded(self) -> bool:
        return self._service is not None and self._service.is_superseded()

    def _put(self, state: dict[str, Any]) -> None:
        try:
            answer = self._http.request("PUT", self._url, json=state)
            document = answer.json()
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise OutcomeUnknown(_OPERATION, str(error)) from error
        if answer.status != _OK or not isinstance(document, dict) or "protection" not in document:
            raise WriteRefused(_OPERATION, f"{answer.status} {document}")


class NoTaskProtection:
    """Outside ECS there is nothing to protect from."""

    def protect(self, *, minutes: int) -> None:
        pass

    def release(self) -> None:
        pass

    def is_superseded(self) -> bool:
        return False
