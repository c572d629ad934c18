"""Carillon as one construct, for an app of your own.

    from aws_cdk import App, Stack
    from infra.carillon import Carillon
    from infra.environments import PROD
    from infra.settings import override

    stack = Stack(App(), "Jobs")
    settings = {"shard_count": 32, "alarm_email": "ops@example.com"}
    carillon = Carillon(stack, "Carillon", environment=override(PROD, settings))
    carillon.allow_target(my_function.function_arn, "lambda:InvokeFunction")

Everything is named by CloudFormation, so any number of them fit one account, one stack even. `data` puts the tables
into a stack apart: `Carillon(..., data=DataStack(app, "Data", ...).data)`, as `infra.app` does and production should.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version

from aws_cdk import Names
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import permissions
from infra.acknowledgements import acknowledge
from infra.components import worker_function
from infra.components.access_log import AccessLog
from infra.components.alarm_rules import FIVE_MINUTES, Watched
from infra.components.alarms import Alarms
from infra.components.api import Api
from infra.components.budget import add_budget
from infra.components.custom_domain import OwnDomain
from infra.components.dashboard import Dashboard
from infra.components.data import Data
from infra.components.lane import Lane
from infra.components.network import Network
from infra.components.own_roles import own_roles
from infra.components.scheduler_service import SchedulerService
from infra.components.table_access import RestoredTables, TableAccess
from infra.components.tables import HOT
from infra.components.undelivered import Undelivered
from infra.components.worker_function import WorkerFunction
from infra.components.worker_service import WorkerService
from infra.governance import govern
from infra.settings import Environment, require_alarms
from infra.words import in_pascal_case
from shared.config import (
    DEPLOYMENT_VARIABLE,
    EVENT_BUS_VARIABLE,
    HOLDING_LANES_VARIABLE,
    LANES_VARIABLE,
    LONGEST_LEAD_VARIABLE,
    OWNER_CONCURRENCY_VARIABLE,
    UNDELIVERED_VARIABLE,
    WEBHOOKS_VARIABLE,
    dead_letter_variable,
    queue_variable,
    table_variable,
)
from shared.schema import FLEET, FLEET_CONTROL


class Carillon(Construct):
    """Everything that runs, and the tables unless they are given. It composes and grants; `components` says what the
    parts are.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, environment: Environment, data: Data | None = None
    ) -> None:
        super().__init__(scope, construct_id)
        require_alarms(environment)
        self._environment = environment
        self.data = data or Data(self, "Data", environment=environment)
        restored = environment.restored_tables
        self.tables: TableAccess = (
            RestoredTables(self, "RestoredTables", names=restored) if restored else self.data.tables
        )
        #: Tells the metrics of one Carillon from those of another in the same account.
        self.deployment = Names.unique_resource_name(self, max_length=64)
        requires_tls = not environment.is_emulated
        self.undelivered = Undelivered(self, "Undelivered", requires_tls=requires_tls, key=self.data.key)
        self.lanes = {
            name: Lane(
                self,
                f"{in_pascal_case(name)}Lane",
                worker_timeout=worker_function.TIMEOUT,
                undelivered=self.undelivered.queue,
                requires_tls=requires_tls,
                key=self.data.key,
            )
            for name in environment.lanes
        }
        #: Rules on it are the business of whoever listens; without any, an event costs its put and goes nowhere.
        self.events = events.EventBus(self, "Events")
        self._compose()
        self._watch()
        # A worker reads message version n + 1 before any node may write it.
        self.scheduler.node.add_dependency(self.worker_function, self.worker)
        # No job can choose a lane before every node and worker knows it.
        self.api.node.add_dependency(self.scheduler)
        govern(self, environment, deployment=self.deployment, key=self.data.key)

    def allow_target(self, arn: str, *actions: str) -> None:
        """Jobs may reach this resource through both hosts of the worker; without such a grant they reach none."""
        for role in (self.worker_function.role, self.worker.role):
            role.add_to_policy(iam.PolicyStatement(actions=[*actions], resources=[arn]))

    def allow_passing(self, roles: Iterable[str]) -> None:
        """Jobs may start tasks of ECS that have these roles, and pass them to nothing else."""
        for role in (self.worker_function.role, self.worker.role):
            role.add_to_policy(
                iam.PolicyStatement(
                    actions=["iam:PassRole"],
                    resources=[*roles],
                    conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
                )
            )

    def _compose(self) -> None:
        environment = self._environment
        everyone = {
            "CARILLON_VERSION": version("carillon"),
            DEPLOYMENT_VARIABLE: self.deployment,
            EVENT_BUS_VARIABLE: self.events.event_bus_name if environment.events == "bus" else "",
        }
        shards = {"CARILLON_SHARD_COUNT": self.data.shard_count.value}
        runs = {"CARILLON_RUN_RETENTION_DAYS": str(environment.run_retention_days)}
        sweep = {"CARILLON_SWEEP_MS": str(environment.sweep_interval_ms)}
        targets = {"CARILLON_INTERNAL_TARGETS": ",".join(environment.internal_targets)}
        queues = {queue_variable(name): lane.queue.queue_url for name, lane in self.lanes.items()}
        dead_letters = {dead_letter_variable(name): lane.dead_letters.queue_url for name, lane in self.lanes.items()}
        clocks = {"CARILLON_CLOCK_BOUND_MS": str(environment.clock_bound_ms)}
        longest_lead = {LONGEST_LEAD_VARIABLE: str(environment.longest_lead_ms)}
        traces = {} if environment.tracing is None else environment.tracing.variables

        network = Network(self, "Network", environment=environment)
        self.cluster = ecs.Cluster(self, "Cluster", vpc=network.vpc)
        acknowledge(
            self.cluster,
            "AwsSolutions-ECS4",
            "Container Insights bills a dozen metrics for each service and task; nodes and workers report what matters",
        )
        self.scheduler = SchedulerService(
            self,
            "Scheduler",
            cluster=self.cluster,
            network=network,
            variables={
                **self._names_of(permissions.SCHEDULER_TABLES),
                **queues,
                **shards,
                **runs,
                **sweep,
                "CARILLON_SENDERS": str(environment.senders),
                **longest_lead,
                HOLDING_LANES_VARIABLE: ",".join(environment.ecs_lanes),
                **traces,
                **everyone,
            },
            environment=environment,
            deployment=self.deployment,
        )
        self._allow(self.scheduler.role, permissions.SCHEDULER_TABLES, queue_actions=permissions.SENDER)

        of_worker = {
            **self._names_of(permissions.WORKER_TABLES),
            **queues,
            **dead_letters,
            **runs,
            **shards,
            **clocks,
            "CARILLON_WORKER_LEASE_SECONDS": str(environment.worker_lease_seconds),
            WEBHOOKS_VARIABLE: str(environment.worker_webhooks),
            OWNER_CONCURRENCY_VARIABLE: json.dumps(dict(environment.owner_concurrency), sort_keys=True),
            **targets,
            **traces,
            **self._grant_rules(),
            **everyone,
        }
        self.worker_function = WorkerFunction(
            self, "WorkerFunction", lanes=self.lanes, variables=of_worker, environment=environment
        )
        self.worker = WorkerService(
            self,
            "Worker",
            cluster=self.cluster,
            network=network,
            lanes=self.lanes,
            variables={**of_worker, **longest_lead, **self._elsewhere()},
            environment=environment,
        )
        for role in (self.worker_function.role, self.worker.role):
            self._allow(role, permissions.WORKER_TABLES, queue_actions=permissions.CONSUMER)
            self._allow_dead_letters(role)
        self._settle_undelivered({**queues, **dead_letters, **runs, **clocks, **everyone})
        for grant in environment.grants:
            self.allow_target(grant.arn, *grant.allowed)
            if grant.pass_roles:
                self.allow_passing(grant.pass_roles)
        # After all other functions, of which it may grant none; its own name it knows from Lambda.
        self.api = Api(
            self,
            "Api",
            variables={
                **self._names_of(permissions.API_TABLES),
                **shards,
                **runs,
                LANES_VARIABLE: ",".join(self.lanes),
                **targets,
                **traces,
                **self._grant_rules(
                    self.cluster.cluster_name,
                    self.scheduler.task_definition.family,
                    self.worker.task_definition.family,
                ),
                **everyone,
            },
            environment=environment,
        )
        self._allow(self.api.role, permissions.API_TABLES)
        if environment.tracing is not None and environment.tracing.is_sent_to_aws:
            for role in (self.api.role, self.scheduler.role, self.worker_function.role, self.worker.role):
                _allow_tracing(role)
        self.tables.allow_partition(self.api.role, FLEET.name, permissions.BRAKE, partition=FLEET_CONTROL)
        if environment.events == "bus":
            self._allow_telling()
        acknowledge(
            self.api,
            "AwsSolutions-APIG4",
            "In mode keys the function verifies the key of each request, so that a refusal is a problem document; in "
            "the others only health and the OpenAPI document are open",
        )
        AccessLog(self, "ApiAccess", http=self.api.http, environment=environment)
        self.domain = (
            OwnDomain(self, "Domain", http=self.api.http, settings=environment.custom_domain)
            if environment.custom_domain
            else None
        )

    def _allow_telling(self) -> None:
        telling = iam.PolicyStatement(actions=[*permissions.TELLER], resources=[self.events.event_bus_arn])
        for made in (self.api, self.scheduler, self.worker_function, self.worker, self.settling):
            made.role.add_to_policy(telling)

    def _settle_undelivered(self, variables: dict[str, str]) -> None:
        names = self._names_of(permissions.DEAD_LETTERS_TABLES)
        queue = self.undelivered.queue
        self.settling = settling = self.undelivered.settle(
            variables={**names, **variables, UNDELIVERED_VARIABLE: queue.queue_url}, environment=self._environment
        )
        self._allow(settling.role, permissions.DEAD_LETTERS_TABLES)
        self._allow_dead_letters(settling.role)
        settling.role.add_to_policy(iam.PolicyStatement(actions=[*permissions.CONSUMER], resources=[queue.queue_arn]))

    def _allow_dead_letters(self, role: iam.Role) -> None:
        arns = [lane.dead_letters.queue_arn for lane in self.lanes.values()]
        role.add_to_policy(iam.PolicyStatement(actions=[*permissions.SENDER], resources=arns))

    def _grant_rules(self, *own: str) -> dict[str, str]:
        """What jobs need a grant for, and what is never granted: all of Carillon's own, as far as it is known here."""
        tables = [self.tables[name].table_name for name in self.tables]
        made = self.node.find_all()
        queues = [each.queue_name for each in made if isinstance(each, sqs.Queue)]
        functions = [each.function_name for each in made if isinstance(each, lambda_.Function)]
        roles = [own_roles(self), own_roles(self.data)]
        return {
            "CARILLON_HTTP_GRANTS": self._environment.http_grants,
            "CARILLON_OWN_RESOURCES": ",".join(
                [*tables, *queues, *functions, self.events.event_bus_name, *roles, *own]
            ),
        }

    def _watch(self) -> None:
        watched = Watched(
            deployment=self.deployment,
            lanes=self.lanes,
            undelivered=self.undelivered.queue,
            tables={name: self.tables[name] for name in HOT},
            functions={
                "api": self.api.function,
                "worker": self.worker_function.function,
                "dead_letters": self.settling.function,
            },
            server_errors=self.api.http.metric_server_error(statistic="Sum", period=FIVE_MINUTES),
        )
        self.alarms = Alarms(self, "Alarms", watched=watched, environment=self._environment, key=self.data.key)
        Dashboard(self, "Dashboard", watched=watched, environment=self._environment)
        add_budget(self, self._environment, deployments=(self.deployment, self.data.deployment))

    def _elsewhere(self) -> dict[str, str]:
        """The lanes that Lambda works, which the ECS worker must not poll."""
        return {queue_variable(name): "" for name, lane in self._environment.lanes.items() if lane.is_on_lambda}

    def _names_of(self, logical_names: Iterable[str]) -> dict[str, str]:
        return {table_variable(name): self.tables[name].table_name for name in logical_names}

    def _allow(
        self, role: iam.Role, tables: permissions.TableActions, *, queue_actions: permissions.Actions = ()
    ) -> None:
        for name, actions in tables.items():
            self.tables.allow(role, name, actions)
        if queue_actions:
            arns = [lane.queue.queue_arn for lane in self.lanes.values()]
            role.add_to_policy(iam.PolicyStatement(actions=[*queue_actions], resources=arns))
        self.data.allow_encryption(role)


def _allow_tracing(role: iam.Role) -> None:
    role.add_to_policy(iam.PolicyStatement(actions=[*permissions.TRACER], resources=["*"]))
    acknowledge(role, "AwsSolutions-IAM5[Resource::*]", "X-Ray knows no resources: spans are the account's")
