"""A local stack that is up, as whoever uses it sees it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from localstack import endpoints, processes
from localstack.processes import Running
from localstack.workspace import Workspace, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

TASKS_SECONDS = 30.0
# A worker may take two minutes to finish what it runs.
ROUTE_SECONDS = 150.0
SERVICE_OUTPUT = "ServiceName"


class StackFailed(Exception):
    """The local stack did not come up; the text says which part, and where its log is."""


@dataclass(frozen=True)
class Stack:
    """A local stack that is up. `outputs` are those of CloudFormation; `key` is an admin key of the demo's owner."""

    workspace: Workspace
    endpoint: str
    outputs: Mapping[str, str]
    key: str

    @classmethod
    def read(cls, workspace: Workspace, state: Mapping[str, Any]) -> Self:
        return cls(workspace, state["endpoint"], state["outputs"], state["key"])

    @property
    def api_url(self) -> str:
        """Where the HTTP API answers. Its own host name needs a DNS that most machines have not."""
        return f"{self.endpoint}/_aws/execute-api/{self.outputs['ApiId']}"

    def tasks(self) -> dict[str, Running]:
        """The tasks that run now, by names such as `scheduler-0`."""
        running = [Running.read(task) for task in read_json(self.workspace.tasks).get("tasks", [])]
        return {task.name: task for task in running if task.is_alive()}

    def scale(self, service: str, desired: int) -> None:
        """Asks for so many tasks of a service, such as `scheduler`, and waits until they run."""
        with closing(endpoints.ecs(self.endpoint)) as ecs:
            ecs.update_service(
                cluster=self.outputs["ClusterName"], service=services_of(self.outputs)[service], desiredCount=desired
            )
        self.wait_for_tasks(service, desired)

    def route(self, endpoint: str | None) -> None:
        """Starts every task again with its AWS at that endpoint, such as a proxy; None: at the emulator itself.

        Raises:
            StackFailed: they do not run, in time.
        """
        before = self.tasks()
        if endpoint is None:
            self.workspace.route.unlink(missing_ok=True)
        else:
            write_json(self.workspace.route, {"endpoint": endpoint})

        def are_new() -> bool:
            now = self.tasks()
            return now.keys() == before.keys() and all(now[name] != before[name] for name in now)

        if not processes.wait_until(are_new, timeout_seconds=ROUTE_SECONDS):
            raise StackFailed(f"the tasks did not start again: see {self.workspace.folder / 'logs'}/supervisor.log")

    def wait_for_tasks(self, service: str, desired: int) -> None:
        """Waits until so many tasks of the service run.

        Raises:
            StackFailed: they do not, in time.
        """

        def runs() -> bool:
            return sum(1 for name in self.tasks() if name.rpartition("-")[0] == service) == desired

        if not processes.wait_until(runs, timeout_seconds=TASKS_SECONDS):
            logs = self.workspace.folder / "logs"
            raise StackFailed(f"{service} does not run {desired} tasks: see {logs}/supervisor.log and {service}-0.log")


def services_of(outputs: Mapping[str, str]) -> dict[str, str]:
    """The deployed ECS services by the names used here: `SchedulerServiceName` is `scheduler`."""
    return {
        key.removesuffix(SERVICE_OUTPUT).lower(): name for key, name in outputs.items() if key.endswith(SERVICE_OUTPUT)
    }
