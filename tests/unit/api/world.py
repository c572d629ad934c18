"""The API over memory: a client that sends the events of an HTTP API (payload 2.0) to the real handler."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote

from functions.api.backend import Backend
from functions.api.resolving import Handler, build
from functions.api.settings import ApiSettings
from shared.adapters.memory import (
    ManualClock,
    MemoryAccessStore,
    MemoryEntryStore,
    MemoryFleetStore,
    MemoryJobStore,
    MemoryRunStore,
    MemoryTables,
    SeededRandomness,
)
from shared.domain.access import KEY_ID_BYTES, SECRET_BYTES, ApiKey, Scope, mint_key
from shared.domain.entry import Entry
from shared.domain.fleet import Node
from shared.domain.instants import MINUTE, Instant
from shared.domain.job import Job
from shared.domain.keys import run_id_of
from shared.domain.run import Run, RunKind, RunStatus
from shared.ports import AccessStore, JobStore, RunStore

SHARD_COUNT = 4
CRON = {"cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin"}
HTTP = {"type": "http", "url": "https://example.com/hook"}
JOB: dict[str, Any] = {"job_id": "nightly-report", "schedule": CRON, "target": HTTP, "payload": {"report": "daily"}}


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def pointers(self) -> list[str]:
        return [each["pointer"] for each in self.json["errors"]]


@dataclass
class World:
    clock: ManualClock = field(default_factory=ManualClock)
    randomness: SeededRandomness = field(default_factory=SeededRandomness)
    settings: ApiSettings = ApiSettings()

    def __post_init__(self) -> None:
        self.tables = MemoryTables(clock=self.clock)
        self.jobs: JobStore = MemoryJobStore(self.tables)
        self.runs: RunStore = MemoryRunStore(self.tables)
        self.access = MemoryAccessStore(self.tables)
        self.entry_store = MemoryEntryStore(self.tables)
        self.fleet = MemoryFleetStore(self.tables)
        self.key_text = self.mint("acme")
        self.handler = self.process()

    def process(
        self, *, jobs: JobStore | None = None, runs: RunStore | None = None, access: AccessStore | None = None
    ) -> Handler:
        """Another process over the same tables; its stores may misbehave."""
        return build(self.backend(jobs=jobs, runs=runs, access=access))

    def backend(
        self, *, jobs: JobStore | None = None, runs: RunStore | None = None, access: AccessStore | None = None
    ) -> Backend:
        return Backend(
            jobs=jobs or self.jobs,
            runs=runs or self.runs,
            entries=self.entry_store,
            fleet=self.fleet,
            access=access or self.access,
            clock=self.clock,
            randomness=self.randomness,
            shard_count=SHARD_COUNT,
            version="1.2.3",
            settings=self.settings,
        )

    def mint(
        self,
        owner_id: str,
        *scopes: Scope,
        expires_at: Instant | None = None,
    ) -> str:
        key, text = mint_key(
            owner_id=owner_id,
            scopes=frozenset(scopes or Scope),
            created_by="test",
            now=self.clock.now(),
            randomness=self.randomness.random_bytes(KEY_ID_BYTES + SECRET_BYTES),
            expires_at=expires_at,
        )
        assert self.access.put_key(key)
        return text

    def key_of(self, text: str) -> ApiKey:
        key = self.access.key(text.split("_")[1])
        assert key is not None
        return key

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: str = "",
        key: str | None = "",
        handler: Handler | None = None,
        **headers: str,
    ) -> Reply:
        """`key` None sends none; `body` a text is sent as it is; a header `if_match` is sent as `if-match`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            sent["authorization"] = f"Bearer {key or self.key_text}"
        if body is not None:
            sent.setdefault("content-type", "application/json")
        event = event_of(method, path, body, query=query, headers=sent)
        raw = (handler or self.handler)(event, None)
        assert raw["isBase64Encoded"] is False
        return Reply(raw["statusCode"], {name.lower(): value for name, value in raw["headers"].items()}, raw["body"])

    def event(self, method: str, path: str, body: object) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self.key_text}", "content-type": "application/json"}
        return event_of(method, path, body, query="", headers=headers)

    def create(self, **members: object) -> Job:
        reply = self.send("POST", "/v1/jobs", {**JOB, **members})
        assert reply.status == 201, reply.text
        return self.job(reply.json["job_id"])

    def job(self, job_id: str = "nightly-report", owner_id: str = "acme") -> Job:
        job = self.jobs.get(f"{owner_id}/{job_id}")
        assert job is not None
        return job

    def own_shards(self, node_id: str, *, watermark: Instant) -> None:
        """A node that owns every shard and has settled what is up to the watermark."""
        self.fleet.beat(Node(node_id, beat=1, version="1.2.3", message_version=1, started_at=self.clock.now()))
        for shard in range(SHARD_COUNT):
            lease = self.fleet.take(self.fleet.snapshot().lease(shard), owner=node_id)
            assert lease is not None
            self.fleet.checkpoint(replace(lease, watermark=watermark))

    def claimed(self, job: Job, slot: Instant) -> Run:
        """A run that a worker has claimed."""
        run = Run(
            job_key=job.job_key,
            run_id=run_id_of(slot),
            kind=RunKind.SCHEDULED,
            slot=slot,
            fire_at=slot,
            status=RunStatus.RUNNING,
            generation=job.generation,
            claim_id="claim",
            lease_until=Instant(slot + MINUTE),
        )
        assert self.runs.insert([run]) == [None]
        return run

    def entries(self) -> list[Entry]:
        return [entry for shard in self.tables.entries.values() for entry in shard.values()]

    def entry(self) -> Entry:
        (only,) = self.entries()
        return only

    def contents(self) -> Any:
        """All that the API can write."""
        tables = self.tables
        access = (tables.keys, tables.receipts, tables.grants, tables.signing_keys)
        return deepcopy((tables.jobs, tables.entries, tables.runs, access, tables.is_firing))


def refused(world: World, body: object, content_type: str = "application/json") -> dict[str, Any]:
    """The problem with which a create is refused; and nothing was written."""
    before = world.contents()
    reply = world.send("POST", "/v1/jobs", body, content_type=content_type)
    assert world.contents() == before
    assert reply.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = reply.json
    assert document["status"] == reply.status
    assert document["instance"] == "request-1"
    assert document["type"].startswith("https://")
    assert document["title"]
    assert document["detail"]
    return document


def event_of(method: str, path: str, body: object, *, query: str, headers: dict[str, str]) -> dict[str, Any]:
    joined: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "requestId": "request-1",
        },
        "isBase64Encoded": False,
    }
    if joined:
        event["queryStringParameters"] = joined
    if body is not None:
        event["body"] = body if isinstance(body, str) else json.dumps(body)
    return event


def quoted(text: str) -> str:
    return quote(text, safe="")
