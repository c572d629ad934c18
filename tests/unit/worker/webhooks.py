"""A target of type http over memory, and calls of it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from functions.worker.targets import Call, Outcome, waited
from functions.worker.targets.gate import Gate
from functions.worker.targets.guard import Guard
from functions.worker.targets.http import HttpTarget
from functions.worker.targets.http_client import HttpClient
from functions.worker.targets.loop_thread import LoopThread
from functions.worker.targets.pausing import Pauses
from functions.worker.targets.secrets import Secrets
from functions.worker.targets.signatures import Signatures
from shared.adapters.memory import ManualClock, MemoryAccessStore, MemoryJobStore, MemoryTables
from shared.domain.addresses import HostPort
from shared.domain.grants import GrantRules
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.ports import Clock
from tests.unit.worker.receiver import Receiver
from tests.unit.worker.recorded_api import RecordedApi

SLOT = Instant(1_795_743_000_000)
OWNER = "owner"
REGION = "eu-central-1"
#: One for all tests.
LOOP = LoopThread()


def call_of(
    target: dict[str, Any], *, timeout_ms: int = 5_000, payload: Any = None, roles: dict[str, str | None] | None = None
) -> Call:
    return Call(
        key=RunKey(f"{OWNER}/nightly", "20261127T013000000Z"),
        slot=SLOT,
        fire_at=SLOT,
        attempt=2,
        token=3,
        target=target,
        payload=payload,
        timeout_ms=timeout_ms,
        deadline=Instant(SLOT + timeout_ms),
        cancelled=Event(),
        report=lambda _: None,
        roles=roles or {},
    )


def send(
    target: HttpTarget,
    url: str,
    *,
    timeout_ms: int = 5_000,
    payload: Any = None,
    roles: dict[str, str | None] | None = None,
    **members: Any,
) -> Outcome:
    document = {"type": "http", "url": url, "method": "POST", "headers": {}} | members
    return waited(target.call(call_of(document, timeout_ms=timeout_ms, payload=payload, roles=roles)))


@dataclass
class Webhooks:
    """Everything around the target."""

    internal: frozenset[HostPort] = frozenset()
    clock: Clock = field(default_factory=ManualClock)
    rules: GrantRules = GrantRules()
    trust: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        self.tables = MemoryTables()
        self.access = MemoryAccessStore(self.tables)
        self.job_store = MemoryJobStore(self.tables)
        self.api = RecordedApi()
        self.gate = Gate(self.rules, self.access, self.clock, region=REGION)
        self.target = HttpTarget(
            HttpClient(Guard(self.internal, self.clock), self.clock, loop=LOOP, trust=self.trust),
            self.clock,
            gate=self.gate,
            secrets=Secrets(self.api, self.clock),
            signatures=Signatures(self.access, self.clock),
            pauses=Pauses(self.job_store, self.clock, shard_count=4),
        )


def webhooks_for(*internal: Receiver, clock: Clock | None = None, rules: GrantRules | None = None) -> Webhooks:
    hosts = frozenset(HostPort("127.0.0.1", receiver.port) for receiver in internal)
    return Webhooks(hosts, clock or ManualClock(), rules or GrantRules())


def target_for(*internal: Receiver) -> HttpTarget:
    return webhooks_for(*internal).target


def target_reaching(*hosts: HostPort) -> HttpTarget:
    return Webhooks(frozenset(hosts)).target
