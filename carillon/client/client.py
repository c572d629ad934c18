from __future__ import annotations

from types import TracebackType
from typing import Final, Self

import httpx

from carillon.client.access import AccessCalls
from carillon.client.connection import Connection, Time, http_client
from carillon.client.fleet import FleetCalls
from carillon.client.job_sets import JobSetCalls
from carillon.client.jobs import JobCalls
from carillon.client.repeating import DEFAULT_PATIENCE, Patience
from carillon.client.runs import RunCalls

#: API Gateway answers by itself after 30 s.
DEFAULT_TIMEOUT_SECONDS: Final = 35.0


class Client(JobCalls, JobSetCalls, RunCalls, AccessCalls, FleetCalls):
    """The API with one key. It keeps connections, may be used by many threads, and is closed as a context manager.

    `timeout` is in seconds, of one attempt. `owner` is whose things to act on, for a key with scope admin. `auth`
    signs requests where a key does not do: for SigV4, or tokens that are renewed. A request that may be repeated is,
    as `patience` says. Every method raises what `carillon.client.errors` lists.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        owner: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        patience: Patience = DEFAULT_PATIENCE,
        auth: httpx.Auth | None = None,
        transport: httpx.BaseTransport | None = None,
        time: Time = Time(),  # noqa: B008 - immutable
    ) -> None:
        http = http_client(url, key, timeout=timeout, auth=auth, transport=transport)
        self._connection = Connection(http, owner, patience, time)

    def close(self) -> None:
        self._connection.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
