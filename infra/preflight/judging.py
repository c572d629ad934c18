"""What an account's answers mean for a deployment. Pure: values in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from infra.settings import Environment
from shared.schema import TABLES

#: AWS lets nobody reserve the last of an account's concurrent executions.
UNRESERVED = 100
#: API, dead letters and custom resources run beside the workers.
OTHER_EXECUTIONS = 20
_UNITS_OF_A_CPU = 1024
#: A rolling deployment runs new tasks beside the old ones.
_TASKS_IN_A_DEPLOYMENT = 2
_EVENTS_A_RUN = 2
#: Each run may put so many events; below this rate they are what bounds a deployment.
_USUAL_RUNS_A_SECOND = 100
_ZONES = 2
#: Zones with Fargate, by Region, where it is not all of them; as documented by AWS in 2026.
FARGATE_ZONES: Mapping[str, frozenset[str]] = {
    "us-west-1": frozenset(("usw1-az1", "usw1-az3")),
    "ap-northeast-1": frozenset(("apne1-az1", "apne1-az2", "apne1-az4")),
    "cn-north-1": frozenset(("cnn1-az1", "cnn1-az2")),
}
#: Made by AWS at the first use, where the deployer may have them made.
ROLES: Mapping[str, str] = {
    "AWSServiceRoleForECS": "ecs.amazonaws.com",
    "AWSServiceRoleForApplicationAutoScaling_ECSService": "ecs.application-autoscaling.amazonaws.com",
}


class Level(StrEnum):
    OK = "ok"
    PROBLEM = "problem"
    #: The account did not say; nothing is known.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    level: Level
    what: str
    #: What to do about it; empty when there is nothing to do.
    advice: str = ""

    def line(self) -> str:
        return f"{self.level:<8} {self.what}" + (f"; {self.advice}" if self.advice else "")


@dataclass(frozen=True, slots=True)
class Account:
    """What was answered; None where nothing was, and then `silent` says why, by the member's name."""

    region: str
    concurrent_executions: float | None = None
    unreserved_executions: float | None = None
    fargate_vcpus: float | None = None
    tables: int | None = None
    most_tables: float | None = None
    put_events_a_second: float | None = None
    #: Id of each zone of the Region (`use1-az1`), by the name that it has in this account.
    zones: Mapping[str, str] | None = None
    #: Which of `ROLES` are there.
    roles: frozenset[str] | None = None
    #: None: no bootstrap stack was found, unless `silent` has it.
    bootstrap_version: int | None = None
    silent: Mapping[str, str] = field(default_factory=dict)


def judge(account: Account, environment: Environment, *, least_bootstrap: int) -> list[Judgement]:
    return [
        _executions(account, environment),
        _vcpus(account, environment),
        _tables(account),
        _events(account, environment),
        _zones(account, environment),
        *_roles(account),
        _bootstrap(account, least_bootstrap),
    ]


def executions_of(environment: Environment) -> int:
    """Of the workers on Lambda, all lanes at their most."""
    return sum(lane.concurrency for lane in environment.lanes.values() if lane.is_on_lambda)


def vcpus_of(environment: Environment) -> float:
    """While a deployment replaces all tasks, each service at its most."""
    units = sum(each.most * each.cpu_units for each in (environment.scheduler, environment.worker))
    return _TASKS_IN_A_DEPLOYMENT * units / _UNITS_OF_A_CPU


def reserved_by(environment: Environment) -> int:
    of_worker = environment.worker_reserved_concurrency
    worker = executions_of(environment) if of_worker == "lanes" else of_worker or 0
    return worker + (environment.api.reserved_concurrency or 0)


def _executions(account: Account, environment: Environment) -> Judgement:
    has, left, wanted = account.concurrent_executions, account.unreserved_executions, executions_of(environment)
    if has is None or left is None:
        return _unknown(account, "concurrent_executions", "Lambda's concurrent executions")
    what = f"Lambda: {has:.0f} concurrent executions, {left:.0f} of them reserved by nobody; the lanes use {wanted}"
    raise_it = "ask for more (Service Quotas, AWS Lambda, Concurrent executions), or lower lanes.<name>.concurrency"
    reserved = reserved_by(environment)
    if reserved and left - reserved < UNRESERVED:
        return Judgement(
            Level.PROBLEM,
            f"{what}, and {reserved} would be reserved, which AWS refuses",
            f"{raise_it}, or reserve less",
        )
    return _enough(what, raise_it, is_enough=left >= wanted + OTHER_EXECUTIONS)


def _vcpus(account: Account, environment: Environment) -> Judgement:
    has, wanted = account.fargate_vcpus, vcpus_of(environment)
    if has is None:
        return _unknown(account, "fargate_vcpus", "Fargate's vCPUs")
    what = f"Fargate: {has:g} vCPUs; a rolling deployment of all tasks takes up to {wanted:g}"
    advice = "ask for more (Service Quotas, AWS Fargate, Fargate On-Demand vCPU), or lower most or cpu_units"
    return _enough(what, advice, is_enough=has >= wanted)


def _tables(account: Account) -> Judgement:
    if account.tables is None or account.most_tables is None:
        return _unknown(account, "most_tables", "DynamoDB's number of tables")
    what = f"DynamoDB: {account.tables} of {account.most_tables:.0f} tables are there; Carillon makes {len(TABLES)}"
    advice = "ask for more (Service Quotas, Amazon DynamoDB, Maximum number of tables)"
    return _enough(what, advice, is_enough=account.tables + len(TABLES) <= account.most_tables)


def _events(account: Account, environment: Environment) -> Judgement:
    if environment.events == "none":
        return Judgement(Level.OK, "EventBridge: no events are told")
    has = account.put_events_a_second
    if has is None:
        return _unknown(account, "put_events_a_second", "EventBridge's PutEvents")
    runs = has / _EVENTS_A_RUN
    what = f"EventBridge: {has:.0f} PutEvents a second, enough for {runs:.0f} runs a second"
    advice = 'ask for more (Service Quotas, Amazon EventBridge, PutEvents), or set "events": "none"'
    return _enough(what, advice, is_enough=runs >= _USUAL_RUNS_A_SECOND)


def _zones(account: Account, environment: Environment) -> Judgement:
    if account.zones is None:
        return _unknown(account, "zones", "the Region's zones")
    fit = fargate_zones(account.region, account.zones)
    chosen = environment.network.availability_zones
    wrong = [zone for zone in chosen if zone not in fit]
    advice = (
        f"choose two of {', '.join(fit)} as network.availability_zones"
        if len(fit) >= _ZONES
        else "choose another Region"
    )
    if wrong:
        return Judgement(
            Level.PROBLEM, f"zones without Fargate, or none of {account.region}: {', '.join(wrong)}", advice
        )
    is_free = not chosen and account.region in FARGATE_ZONES
    if len(fit) < _ZONES or (is_free and list(account.zones)[:_ZONES] != list(fit)[:_ZONES]):
        return Judgement(Level.PROBLEM, f"the first two zones of {account.region} have not both Fargate", advice)
    return Judgement(Level.OK, f"zones with Fargate: {', '.join(chosen or fit)}")


def fargate_zones(region: str, zones: Mapping[str, str]) -> tuple[str, ...]:
    """Names, of zones by name."""
    known = FARGATE_ZONES.get(region)
    return tuple(name for name, zone_id in sorted(zones.items()) if known is None or zone_id in known)


def _roles(account: Account) -> Iterator[Judgement]:
    for role, service in ROLES.items():
        if account.roles is None:
            yield _unknown(account, "roles", f"role {role}")
        elif role in account.roles:
            yield Judgement(Level.OK, f"role {role} is there")
        else:
            yield Judgement(
                Level.PROBLEM,
                f"role {role} is not there",
                f"aws iam create-service-linked-role --aws-service-name {service}",
            )


def _bootstrap(account: Account, least: int) -> Judgement:
    version = account.bootstrap_version
    if version is None and "bootstrap_version" in account.silent:
        return _unknown(account, "bootstrap_version", "the CDK's bootstrap version")
    advice = "cd infra && npx cdk bootstrap"
    if version is None:
        return Judgement(Level.PROBLEM, f"the CDK has not been bootstrapped in {account.region}", advice)
    return _enough(f"CDK bootstrap version {version}, {least} is needed", advice, is_enough=version >= least)


def _enough(what: str, advice: str, *, is_enough: bool) -> Judgement:
    return Judgement(Level.OK, what) if is_enough else Judgement(Level.PROBLEM, what, advice)


def _unknown(account: Account, member: str, what: str) -> Judgement:
    why = account.silent.get(member, "the account does not say")
    return Judgement(Level.UNKNOWN, f"{what}: {why}", "look it up in the console, or let this user read it")
