"""Traces: who waited for what, from the request that asks for a run to the call of its target."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol


class Work(StrEnum):
    """What a span is about; also its name."""

    #: A request of the API.
    REQUEST = "request"
    #: A slot is handed to a queue.
    DISPATCH = "dispatch"
    #: An attempt at a run, from its start to its end.
    RUN = "run"
    #: The call of its target.
    CALL = "call"


class Span(Protocol):
    @property
    def header(self) -> str | None:
        """What work under this span is to be told (`shared.domain.traces`); None when it is not sampled."""
        ...

    def end(self, *, failure: str | None = None) -> None:
        """It ends now; with `failure`, a stable word for what went wrong."""
        ...


class Traces(Protocol):
    """Safe to use from many threads. Nothing here raises: work goes on untraced."""

    def begin(
        self,
        work: Work,
        *,
        under: str | None = None,
        because_of: str | None = None,
        attributes: Mapping[str, str | int] | None = None,
    ) -> Span:
        """`under` is the header of the span it belongs to; without one it begins a trace, if it is sampled.

        `because_of` is one of another trace that led to it, long ago perhaps.
        """
        ...

    def flush(self) -> None:
        """Send what has ended: a host that may be frozen calls this before."""
        ...


class _Untraced:
    def __init__(self, header: str | None) -> None:
        self.header = header

    def end(self, *, failure: str | None = None) -> None:
        pass


class NoTraces:
    """Nobody traces here. What is traced elsewhere is handed on."""

    def begin(
        self,
        work: Work,
        *,
        under: str | None = None,
        because_of: str | None = None,
        attributes: Mapping[str, str | int] | None = None,
    ) -> Span:
        del work, because_of, attributes
        return _Untraced(under)

    def flush(self) -> None:
        pass
