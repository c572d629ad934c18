"""What the stores sent and what was answered, as events of their client tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shared.adapters.aws.calls import Calls

R = TypeVar("R")

ACCEPTED = "accepted"
_MEMBERS = ("ConditionExpression", "UpdateExpression", "KeyConditionExpression", "FilterExpression", "Statement")


@dataclass(frozen=True, slots=True)
class Met:
    """One item of one request. `answer` is `accepted`, or the code of its error; `texts` are its expressions."""

    operation: str
    texts: tuple[str, ...]
    answer: str


@dataclass
class Recorder:
    met: list[Met] = field(default_factory=list)
    #: The name under which the call that goes on is made.
    operation: str = ""

    def watch(self, client: Any) -> None:
        client.meta.events.register("provide-client-params.dynamodb", _keep_params)
        client.meta.events.register("after-call.dynamodb", self._answered)

    def _answered(self, parsed: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        asked: Mapping[str, Any] = context["recorded"]
        self.met += [Met(self.operation, texts, answer) for texts, answer in met_in(asked, parsed)]

    @property
    def operations(self) -> frozenset[str]:
        return frozenset(each.operation for each in self.met)

    @property
    def codes(self) -> frozenset[str]:
        """Of refusals, as adapters compare them: without the namespace in front and `Exception` behind."""
        return frozenset(plain(each.answer) for each in self.met)

    def answers_to(self, fits: Callable[[str], bool]) -> Counter[str]:
        """How often items with a text that fits were answered how."""
        return Counter(plain(each.answer) for each in self.met if any(map(fits, each.texts)))


def plain(code: str) -> str:
    return code.rpartition(".")[2].removesuffix("Exception")


def met_in(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each item of a request with its own answer. Pure."""
    whole = answered.get("Error", {}).get("Code", ACCEPTED)
    if "TransactItems" in asked:
        items = [request for item in asked["TransactItems"] for request in item.values()]
        reasons: Sequence[Mapping[str, Any]] = answered.get("CancellationReasons", [])
        # Of a transaction that was cancelled, an item without a reason of its own was not refused: nobody says more.
        codes = [reason.get("Code", "None") for reason in reasons] or [whole] * len(items)
        yield (), whole
        yield from ((_texts(item), code) for item, code in zip(items, codes, strict=True))
    elif "Statements" in asked:
        responses = answered.get("Responses", [{}] * len(asked["Statements"]))
        for statement, response in zip(asked["Statements"], responses, strict=True):
            yield _texts(statement), response.get("Error", {}).get("Code", whole)
    else:
        yield _texts(asked), whole


def _texts(request: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(request[member] for member in _MEMBERS if member in request)


def _keep_params(params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
    context["recorded"] = dict(params)


class RecordingCalls(Calls):
    """Tells the recorder for what each call is made."""

    recorder: Recorder

    def repeat(self, operation: str, call: Callable[[], R]) -> R:
        self.recorder.operation = operation
        return super().repeat(operation, call)
