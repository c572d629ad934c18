"""The ports of a host: what it calls goes over the network to the stores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from shared.domain.entry import Entry
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND, Instant
from shared.domain.keys import EntryKey
from shared.domain.message import Dispatch
from shared.ports import DeadLetter, Delivery, SendReport
from tests.simulation.hosts import Host
from tests.simulation.lanes import SimulatedLane
from tests.simulation.network import Network


class Remote:
    """A store as a host sees it: any port whose calls are functions."""

    def __init__(self, network: Network, host: Host, name: str, store: Any) -> None:
        self._network = network
        self._host = host
        self._name = name
        self._store = store

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        target = getattr(self._store, operation)
        network, host, full_name = self._network, self._host, f"{self._name}.{operation}"

        def call(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                return network.call(host, "db", full_name, args, target)
            return network.call(host, "db", full_name, args, lambda *given: target(*given, **kwargs))

        setattr(self, operation, call)
        return call


class RemoteEntries(Remote):
    """Pages are read when they are asked for; nothing is called for nothing."""

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        return self._pages(shard, since, until, self._store.announced(shard, since=since, until=until))

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        return self._pages(shard, since, until, self._store.parked(shard, since=since, until=until))

    def _pages(self, shard: int, since: Instant, until: Instant, pages: Iterator[list[Entry]]) -> Iterator[list[Entry]]:
        def read(_shard: int, _since: int, _until: int) -> list[Entry] | None:
            return next(pages, None)

        while True:
            page = self._network.call(self._host, "db", "entries.read", (shard, since, until), read)
            if page is None:
                return
            yield page

    def delete(self, keys: Collection[EntryKey]) -> None:
        if keys:
            self._network.call(self._host, "db", "entries.delete", (keys,), self._store.delete)


class RemoteJobs(Remote):
    def get_many(self, job_keys: Collection[str]) -> Any:
        # Sorted, or the order of a set of texts would differ from process to process.
        keys = sorted(job_keys)
        return self._network.call(self._host, "db", "jobs.get_many", (keys,), self._store.get_many)


class RemoteLane:
    """A lane as a host sees it. `send` answers what is known, and raises nothing."""

    def __init__(self, network: Network, host: Host, lane: SimulatedLane) -> None:
        self._network = network
        self._host = host
        self._lane = lane

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:
        def send(dispatches: Sequence[Dispatch]) -> SendReport:
            return self._lane.send(dispatches, is_newer=self._host.is_newer)

        try:
            return self._network.call(self._host, "sqs", "lane.send", (list(dispatches),), send)
        except StoreError:
            return SendReport()

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        """A long poll: an empty answer comes only after `wait_seconds`."""

        def receive(limit: int) -> list[Delivery]:
            return self._lane.receive(limit=limit, wait_seconds=wait_seconds, visibility_seconds=visibility_seconds)

        engine = self._network.engine
        until = engine.now + wait_seconds * SECOND
        while True:
            deliveries = self._network.call(self._host, "sqs", "lane.receive", (limit,), receive)
            if deliveries or engine.now >= until:
                return deliveries
            self._lane.wait(engine, until)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        self._network.call(self._host, "sqs", "lane.delete", (list(deliveries),), self._lane.delete)

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        self._network.call(
            self._host, "sqs", "lane.hide", (delivery, seconds), lambda one, time: self._lane.hide(one, seconds=time)
        )

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        self._network.call(
            self._host,
            "sqs",
            "lane.hide",
            (list(deliveries), seconds),
            lambda all_, time: self._lane.hide_all(all_, seconds=time),
        )


class RemoteLetters(Remote):
    """The dead letters of the lanes."""

    def send(self, letters: Sequence[DeadLetter]) -> None:
        self._network.call(self._host, "sqs", "letters.send", (list(letters),), self._store.send)
