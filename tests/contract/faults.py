"""Failures struck on a real client of the emulator, by botocore's own events: a call may be refused, carried out and
its answer lost, or carried out in part.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from botocore.awsrequest import AWSResponse, HTTPHeaders
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

Edit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Step:
    """What happens to one call. Without anything it is carried out and answered."""

    #: Changes the request before it is sent.
    request: Edit | None = None
    #: Changes the answer.
    answer: Edit | None = None
    is_unsent: bool = False
    is_answer_lost: bool = False
    is_cut_off: bool = False
    refusal: dict[str, Any] | None = None
    status: int = 400


LOST = Step(is_answer_lost=True)
UNSENT = Step(is_unsent=True)
CUT_OFF = Step(is_cut_off=True)
CARRIED_OUT = Step()


def refused(code: str, status: int = 400, **fields: Any) -> Step:
    """Not carried out; answered with this error."""
    return Step(refusal={"Error": {"Code": code, "Message": "on purpose"}, **fields}, status=status)


class Faults:
    """Scripts of a client, by operation: each call takes the next step; after the last all goes well."""

    def __init__(self, client: Any) -> None:
        self._scripts: dict[str, deque[Step]] = defaultdict(deque)
        self._now = CARRIED_OUT
        #: The parameters of every call made, by operation.
        self.calls: dict[str, list[dict[str, Any]]] = defaultdict(list)
        service = client.meta.service_model.service_id.hyphenize()
        events = client.meta.events
        events.register(f"provide-client-params.{service}", self._begin)
        events.register(f"before-call.{service}", self._refuse)
        events.register(f"before-send.{service}", self._cut_off)
        events.register(f"after-call.{service}", self._end)

    def script(self, operation: str, *steps: Step) -> None:
        self._scripts[operation].extend(steps)

    def _begin(self, params: dict[str, Any], model: Any, **_: object) -> None:
        self.calls[model.name].append({**params})
        script = self._scripts[model.name]
        self._now = script.popleft() if script else CARRIED_OUT
        if self._now.request is not None:
            self._now.request(params)

    def _refuse(self, **_: object) -> tuple[SimpleNamespace, dict[str, Any]] | None:
        if self._now.is_unsent:
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1")
        if self._now.refusal is None:
            return None
        metadata = {"HTTPStatusCode": self._now.status}
        return SimpleNamespace(status_code=self._now.status), {**self._now.refusal, "ResponseMetadata": metadata}

    def _cut_off(self, request: Any, **_: object) -> AWSResponse | None:
        if not self._now.is_cut_off:
            return None
        return AWSResponse(request.url, 200, HTTPHeaders(), SimpleNamespace(stream=_nothing))

    def _end(self, parsed: dict[str, Any], **_: object) -> None:
        if self._now.answer is not None:
            self._now.answer(parsed)
        if self._now.is_answer_lost:
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1")


def _nothing() -> Iterator[bytes]:
    yield b""
