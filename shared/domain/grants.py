"""Which targets an owner may use: grants, matched here without I/O.

A grant names a target type and a resource: an ARN, or one that ends in `*`; for `http` a host, or `*.example.com` for
every host below it; for `secret` the ARN of a secret that webhooks may carry, and the hosts to which they may. Without
a grant no function is called, no API of AWS, and no secret is read; a host needs one only where the deployment says so.
A resource of Carillon's own is never granted, and a grant that covers one is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant
from shared.domain.limits import MAX_GRANT_MEMBERS

HTTP, LAMBDA, AWS, SECRET = "http", "lambda", "aws", "secret"
#: Types of targets, and what a target of type http may carry.
GRANTED_TYPES: Final = (HTTP, LAMBDA, AWS, SECRET)

_ARN = re.compile(r"arn:aws[a-z-]*:([a-z0-9-]+):([a-z0-9-]+):(\d{12}):([A-Za-z0-9_./:$@+=,-]+)(\*?)", re.ASCII)
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}", re.ASCII)
_HOST = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]", re.ASCII)
_MEMBER = re.compile(r"[A-Za-z]+(\[\])?(\.[A-Za-z]+(\[\])?)*(=[^\x00-\x1f]{1,512})?", re.ASCII)
_EXAMPLE_MEMBER: Final = "networkConfiguration.awsvpcConfiguration.subnets[]=subnet-0123456789abcdef0"
_MEMBERS: Final = ("target_type", "resource", "role_arn", "members", "hosts")
#: In the place of hosts: wherever the owner's jobs may call.
ANY_HOST: Final = "any"
_SEPARATOR = re.compile("[:/]")
#: `arn`, partition, service, Region and account: what precedes the name in an ARN.
_ARN_PARTS: Final = 5
#: Kinds of resources whose name is followed by a version or an alias.
_VERSIONED: Final = frozenset({"function", "stateMachine", "task-definition"})
_MAX_RESOURCE_LENGTH = 1024
_SHOWN_LENGTH = 60
_EXAMPLES: Final[Mapping[str, dict[str, Any]]] = {
    HTTP: {"target_type": HTTP, "resource": "*.example.com"},
    LAMBDA: {"target_type": LAMBDA, "resource": "arn:aws:lambda:eu-central-1:123456789012:function:report"},
    AWS: {"target_type": AWS, "resource": "arn:aws:sqs:eu-central-1:123456789012:orders"},
    SECRET: {
        "target_type": SECRET,
        "resource": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-*",
        "hosts": ["hooks.example.com"],
    },
}


@dataclass(frozen=True, slots=True)
class Grant:
    """The owner may call what `resource` covers; with `role_arn`, only under that role, which the worker assumes with
    the owner's id as external id.
    """

    owner_id: str
    grant_id: str
    target_type: str
    resource: str
    created_at: Instant
    created_by: str
    role_arn: str | None = None
    #: What jobs may set of a call's guarded members: paths such as `overrides.containerOverrides[].command`, each with
    #: `=value` where only that value is allowed.
    members: tuple[str, ...] = ()
    #: Where a secret may be carried: hosts, or `any`. None has those that were made before they were asked for: any.
    hosts: tuple[str, ...] = ()

    def admits_host(self, host: str) -> bool:
        return not self.hosts or ANY_HOST in self.hosts or any(_is_host_of(host, each) for each in self.hosts)

    def lets(self, path: str, value: str) -> bool:
        """A job may set that member to that value."""
        return path in self.members or f"{path}={value}" in self.members


@dataclass(frozen=True, slots=True)
class OwnResources:
    """The names of Carillon's own queues, tables, functions and bus: whole ones, or beginnings that end in `*`."""

    names: tuple[str, ...] = ()

    def touched_by(self, resource: str) -> bool:
        """The ARN, or the one that ends in `*`, is or may be one of Carillon's own."""
        *whole, last = _SEPARATOR.split(resource.removesuffix("*"))
        # `function:report:*` leaves the version open and not the name.
        is_open = resource.endswith("*") and not (len(whole) > _ARN_PARTS + 1 and whole[_ARN_PARTS] in _VERSIONED)
        return any(
            any(_is_covered(name, by=own) for name in whole)
            or _is_covered(last, by=own)
            or (is_open and own.removesuffix("*").startswith(last))
            for own in self.names
        )


@dataclass(frozen=True, slots=True)
class Use:
    """One thing that a target calls: an ARN, or the host of a URL. `pointer` is where the target says so."""

    target_type: str
    resource: str
    pointer: str = "#"
    #: Members that the grant must name for this call: path and value as text.
    members: tuple[tuple[str, str], ...] = ()
    #: To which a secret is carried.
    host: str | None = None


#: By target type, the role to call under; None: the worker's own.
Roles = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class NotGranted:
    use: Use
    reason: str

    @property
    def detail(self) -> str:
        return f"{self.use.resource}: {self.reason}"


@dataclass(frozen=True, slots=True)
class GrantRules:
    """What this deployment demands. `is_http_open`: a public host may be called without a grant."""

    is_http_open: bool = True
    own: OwnResources = OwnResources()

    def needs_grant(self, use: Use) -> bool:
        return use.target_type != HTTP or not self.is_http_open

    def judge(self, uses: Iterable[Use], grants: Iterable[Grant]) -> Roles | NotGranted:
        """Whether the owner of `grants` may do all of these, and under which roles."""
        grants = tuple(grants)
        roles: dict[str, str | None] = {}
        for use in filter(self.needs_grant, uses):
            if use.target_type != HTTP and self.own.touched_by(use.resource):
                return NotGranted(use, "this is one of Carillon's own, which no target may call")
            grant = _closest(grants, use)
            if grant is None:
                return NotGranted(
                    use, f"no grant of type {use.target_type} covers this; an admin adds one by POST /v1/grants"
                )
            if use.host is not None and not grant.admits_host(use.host):
                return NotGranted(use, f"its grant does not let it be carried to {use.host}: an admin names the host")
            if unnamed := next((each for each in use.members if not grant.lets(*each)), None):
                path, value = unnamed
                asked = f"{path} to {value[:_SHOWN_LENGTH]!r}"
                return NotGranted(use, f'its grant does not let a job set {asked}; an admin adds it to "members"')
            if roles.setdefault(use.target_type, grant.role_arn) != grant.role_arn:
                return NotGranted(use, "its grant names another role than the rest of this call, which has only one")
        return roles


def new_grant(
    document: Mapping[str, Any], *, owner_id: str, grant_id: str, by: str, now: Instant, own: OwnResources
) -> Grant:
    """The grant that a request describes: `target_type`, `resource`, perhaps `role_arn` and `members`; of a secret its
    `hosts`.

    Raises InvalidRequest.
    """
    kind, resource, role_arn = (document.get(name) for name in ("target_type", "resource", "role_arn"))
    if kind not in GRANTED_TYPES:
        detail = f"a grant is for a target of type {', '.join(GRANTED_TYPES)}"
        raise InvalidRequest(FieldProblem("#/target_type", detail, AWS))
    problems = [
        FieldProblem(f"#/{name}", f"unknown member of a grant; known: {', '.join(_MEMBERS)}")
        for name in document
        if name not in _MEMBERS
    ]
    if fault := _fault_of_host(resource) if kind == HTTP else _fault_of_arn(resource, kind, own):
        problems.append(FieldProblem("#/resource", fault, _EXAMPLES[kind]["resource"]))
    if fault := _fault_of_role(role_arn, kind, own):
        problems.append(FieldProblem("#/role_arn", fault, "arn:aws:iam::123456789012:role/carillon-orders"))
    members = document.get("members") or ()
    if fault := _fault_of_members(members, kind):
        problems.append(FieldProblem("#/members", fault, [_EXAMPLE_MEMBER]))
    hosts = document.get("hosts") or ()
    if fault := _fault_of_hosts(hosts, kind):
        problems.append(FieldProblem("#/hosts", fault, _EXAMPLES[SECRET]["hosts"]))
    if problems:
        raise InvalidRequest(problems)
    return Grant(owner_id, grant_id, kind, str(resource), now, by, role_arn, tuple(members), tuple(hosts))


def _closest(grants: Iterable[Grant], use: Use) -> Grant | None:
    """Of the grants that cover it the one that says most: a whole name before a pattern, a longer pattern before a
    shorter one.
    """
    covering = [grant for grant in grants if grant.target_type == use.target_type and _covers(grant, use.resource)]
    return max(covering, key=lambda grant: ("*" not in grant.resource, len(grant.resource)), default=None)


def _covers(grant: Grant, resource: str) -> bool:
    if grant.target_type != HTTP:
        return _is_covered(resource, by=grant.resource)
    return _is_host_of(resource, grant.resource)


def _is_host_of(host: str, pattern: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _is_covered(name: str, *, by: str) -> bool:
    return name.startswith(by[:-1]) if by.endswith("*") else name == by


def _fault_of_host(resource: object) -> str | None:
    if not isinstance(resource, str) or len(resource) > _MAX_RESOURCE_LENGTH or not _HOST.fullmatch(resource):
        return "for http the resource is a host in lower case, without port, or *.example.com for all hosts below it"
    return None


def _fault_of_arn(resource: object, kind: str, own: OwnResources) -> str | None:
    found = _ARN.fullmatch(resource) if isinstance(resource, str) and len(resource) <= _MAX_RESOURCE_LENGTH else None
    if found is None:
        return "the resource is a whole ARN with Region and account; only at its end may it have a *"
    service, name = found[1], found[4]
    if kind == LAMBDA and not (service == "lambda" and name.startswith("function:")):
        return "for lambda the resource is the ARN of a function"
    if (kind == SECRET) != (service == "secretsmanager"):
        return "the ARN of a secret is granted by target_type secret, and that grants nothing else"
    if own.touched_by(found.group()):
        return "it covers resources of Carillon's own, which are never granted"
    return None


def _fault_of_hosts(hosts: object, kind: str) -> str | None:
    if not isinstance(hosts, list | tuple) or len(hosts) > MAX_GRANT_MEMBERS:
        return f"hosts is a list of at most {MAX_GRANT_MEMBERS} hosts"
    if kind != SECRET:
        return "only a secret has hosts to which it may be carried" if hosts else None
    if not hosts:
        return f'name the hosts to which the secret may be carried, or ["{ANY_HOST}"] for all that the owner may call'
    return next((fault for each in hosts if (fault := _fault_of_host(each))), None)


def _fault_of_members(members: object, kind: str) -> str | None:
    if not isinstance(members, list | tuple) or len(members) > MAX_GRANT_MEMBERS:
        return f"members is a list of at most {MAX_GRANT_MEMBERS} paths, each perhaps with =value"
    if members and kind != AWS:
        return "only calls of target_type aws have members to name"
    wrong = next((each for each in members if not isinstance(each, str) or not _MEMBER.fullmatch(each)), None)
    if wrong is not None:
        form = "names joined by dots, those of lists followed by [], perhaps with =value"
        return f"{str(wrong)[:_SHOWN_LENGTH]!r} is not a path of members: {form}"
    return None


def _fault_of_role(role_arn: object, kind: str, own: OwnResources) -> str | None:
    if role_arn is None:
        return None
    if kind == HTTP:
        return "a target of type http is called under no role"
    if not isinstance(role_arn, str) or not _ROLE.fullmatch(role_arn):
        return "role_arn is the whole ARN of an IAM role"
    if own.touched_by(role_arn):
        return "the roles of Carillon's own are never granted"
    return None
