"""Which task definition the service of this task starts now: after a deployment, or its roll-back, another one.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import urllib3

from shared.adapters.aws.faults import CALL_FAILURES, fault
from shared.domain.errors import OutcomeUnknown

_OPERATION = "ecs.service"
_TIMEOUT = urllib3.Timeout(total=2.0)


class EcsService:
    """`uri` is what ECS gives each container as ECS_CONTAINER_METADATA_URI_V4; `client` makes a client of ECS."""

    def __init__(self, uri: str, client: Callable[[], Any]) -> None:
        self._url = f"{uri.rstrip('/')}/task"
        self._client = client
        self._http = urllib3.PoolManager(retries=False, timeout=_TIMEOUT)
        self._task: dict[str, Any] | None = None
        self._ecs: Any = None

    def is_superseded(self) -> bool:
        """Raises StoreError when that is not known."""
        task = self._own_task()
        try:
            self._ecs = self._ecs or self._client()
            answer = self._ecs.describe_services(cluster=task["Cluster"], services=[task["ServiceName"]])
        except CALL_FAILURES as error:
            raise fault(_OPERATION, error) from error
        deployments = [each for service in answer.get("services", []) for each in service.get("deployments", [])]
        newest = [each["taskDefinition"] for each in deployments if each.get("status") == "PRIMARY"]
        if not newest:
            raise OutcomeUnknown(_OPERATION, f"no deployment of {task['ServiceName']} is the newest")
        return not newest[0].endswith(f"/{task['Family']}:{task['Revision']}")

    def _own_task(self) -> dict[str, Any]:
        """It stays the same."""
        if self._task is None:
            try:
                task = self._http.request("GET", self._url).json()
                self._task = {name: task[name] for name in ("Cluster", "ServiceName", "Family", "Revision")}
            except (urllib3.exceptions.HTTPError, ValueError, TypeError, KeyError) as error:
                raise OutcomeUnknown(_OPERATION, f"the task does not know its service: {error!r}") from error
        return self._task
