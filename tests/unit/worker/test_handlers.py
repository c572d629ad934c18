"""Functions as targets: the registry users see, and what a worker makes of their answers."""

from __future__ import annotations

import tomllib
from asyncio import CancelledError
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import carillon
from carillon import Fence
from carillon.handlers import Context, Registry, registry
from functions.worker import examples
from functions.worker.targets import Call, Outcome, Targets
from functions.worker.targets.handler import HandlerTarget
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.run import RunStatus


def call_of(name: str, payload: Any = None, **changes: Any) -> Call:
    given: dict[str, Any] = {
        "key": RunKey("owner/nightly", "20261127T013000000Z"),
        "slot": Instant(1_795_743_000_000),
        "fire_at": Instant(1_795_743_000_250),
        "attempt": 2,
        "token": 3,
        "target": {"type": "handler", "name": name},
        "payload": payload,
        "timeout_ms": 5_000,
        "deadline": Instant(1_795_743_005_250),
        "cancelled": Event(),
        "report": lambda _: None,
    }
    return Call(**given | changes)


def run(function: Any, payload: Any = None, **changes: Any) -> Outcome:
    handlers = Registry()
    handlers.handler("tried")(function)
    return HandlerTarget(handlers).call(call_of("tried", payload, **changes))


def test_a_payload_reaches_its_handler_as_it_was_given() -> None:
    seen: list[Any] = []
    handlers = Registry()
    handlers.handler("tried")(lambda _, payload: seen.append(payload))
    targets = Targets({"handler": HandlerTarget(handlers)})

    targets.call(call_of("tried", {"text": "Dear {{name}}, {{{{slot}} {{slot}}"}))

    assert seen == [{"text": "Dear {{name}}, {{{{slot}} {{slot}}"}]


def test_a_handler_receives_its_context_and_the_payload() -> None:
    seen: list[tuple[Context, Any]] = []
    said: list[str] = []

    def look(context: Context, payload: Any) -> None:
        context.progress("half way")
        seen.append((context, payload))

    cancelled = Event()
    outcome = run(look, {"n": 1}, cancelled=cancelled, report=said.append)

    assert (outcome.status, outcome.output, outcome.completion) == (RunStatus.SUCCEEDED, None, "done")
    [(context, payload)] = seen
    assert payload == {"n": 1}
    assert (context.owner_id, context.job_id, context.run_id) == ("owner", "nightly", "20261127T013000000Z")
    assert (context.attempt, context.token) == (2, 3)
    assert context.slot == datetime(2026, 11, 27, 1, 30, tzinfo=UTC)
    assert context.fire_at == datetime(2026, 11, 27, 1, 30, 0, 250_000, tzinfo=UTC)
    assert context.deadline == datetime(2026, 11, 27, 1, 30, 5, 250_000, tzinfo=UTC)
    assert context.cancellation is cancelled
    assert said == ["half way"]


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (None, None),
        ("text", "text"),
        ({"ü": [1, 2]}, '{"ü":[1,2]}'),
        (0, "0"),
        (datetime(2026, 1, 1, tzinfo=UTC), '"2026-01-01 00:00:00+00:00"'),
    ],
)
def test_what_a_handler_returns_is_stored_as_text(answer: Any, output: str | None) -> None:
    assert run(lambda *_: answer).output == output


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no good"),
        SystemExit("no good"),
        KeyboardInterrupt("no good"),
        CancelledError("no good"),
        ExceptionGroup("no good", [OSError()]),
        BaseExceptionGroup("no good", [CancelledError()]),
    ],
)
def test_what_a_handler_raises_fails_the_run(error: BaseException) -> None:
    def fails(*_: Any) -> None:
        raise error

    outcome = run(fails)

    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.type == type(error).__name__
    assert outcome.error.message.startswith("no good")


class Shy:
    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("answer", "named"),
    [({(1, 2): 3}, "dict"), ({b"key": 1}, "dict"), (CIRCLE, "list"), (Shy(), "Shy"), ([Shy()], "list")],
)
def test_a_result_that_json_cannot_say_fails_nothing_and_the_output_says_so(answer: Any, named: str) -> None:
    outcome = run(lambda *_: answer)

    assert (outcome.status, outcome.error) == (RunStatus.SUCCEEDED, None)
    assert outcome.output is not None
    assert f"its result, of type {named}, is no JSON and is not stored" in outcome.output


def test_an_error_that_cannot_be_shown_fails_the_run_under_its_name() -> None:
    class Unshown(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    def fails(*_: Any) -> None:
        raise Unshown

    outcome = run(fails)

    assert outcome.error is not None
    assert (outcome.status, outcome.error.type) == (RunStatus.FAILED, "Unshown")


def test_a_handler_that_looks_at_cancelled_sees_false_until_nobody_waits_for_its_result() -> None:
    cancelled = Event()
    seen: list[bool] = []

    def look(context: Context, _: Any) -> None:
        seen.append(context.cancelled)
        cancelled.set()
        seen.append(context.cancelled)

    run(look, cancelled=cancelled)

    assert seen == [False, True]


def test_an_unknown_handler_fails_and_tells_its_owner_of_no_other() -> None:
    outcome = HandlerTarget(registry).call(call_of("missing"))

    assert outcome.error is not None
    assert outcome.error.type == "unknown_handler"
    assert outcome.error.message == "no handler of this deployment is named 'missing'"


def test_a_name_is_registered_once() -> None:
    handlers = Registry()
    handlers.handler("a")(lambda *_: None)
    with pytest.raises(ValueError, match="registered twice"):
        handlers.handler("a")(lambda *_: None)
    assert handlers.names == ("a",)


def test_the_decorated_function_stays_as_it_is() -> None:
    moment = datetime(2026, 11, 27, tzinfo=UTC)
    context = Context("job", "run", slot=moment, fire_at=moment, attempt=1, token=1, deadline=moment)
    context.progress("nobody listens")

    assert examples.echo(context, {"n": 1}) == {"n": 1}


def test_the_examples_echo_and_fail() -> None:
    target = HandlerTarget(registry)

    assert target.call(call_of("echo", {"n": 1})).output == '{"n":1}'
    failure = target.call(call_of("fail", {"message": "as asked"})).error
    assert failure is not None
    assert (failure.type, failure.message) == ("ExampleFailure", "as asked")


def test_the_example_that_sleeps_wakes_when_it_is_cancelled() -> None:
    cancelled = Event()
    call = call_of("sleep", {"seconds": 3_600}, cancelled=cancelled)
    outcomes: list[Outcome] = []
    thread = Thread(target=lambda: outcomes.append(HandlerTarget(registry).call(call)), daemon=True)
    thread.start()

    cancelled.set()
    thread.join(timeout=10)

    assert [outcome.output for outcome in outcomes] == ["cancelled"]
    assert HandlerTarget(registry).call(call_of("sleep", {"seconds": 0})).output == "slept 0 s"


def test_the_package_and_the_distribution_are_of_one_version() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project.get("version", carillon.__version__) == carillon.__version__


def test_a_handler_has_the_fence_and_the_headers_of_its_try() -> None:
    seen: list[Context] = []
    run(lambda context, _: seen.append(context))

    [context] = seen
    assert context.fence.value == "20261127T013000000Z#000000000003"
    assert context.headers == {
        "Carillon-Attempt": "2",
        "Carillon-Slot": "2026-11-27T01:30:00.000Z",
        "Carillon-Fencing-Token": "3",
    }


def test_a_fence_rises_with_the_token_and_then_with_the_slot() -> None:
    fences = [
        Fence("20261127T013000000Z", 1),
        Fence("20261127T013000000Z", 9),
        Fence("20261127T013000000Z", 10),
        Fence("20261127T013000000Z-m7f3a2b", 1),
        Fence("20261127T013000001Z", 1),
        Fence("20271127T013000000Z", 1),
    ]

    assert [fence.value for fence in fences] == sorted(fence.value for fence in fences)
