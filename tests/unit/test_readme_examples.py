"""The README's examples are executed: requests, schedules, Python. Those for a shell are by the acceptance tests."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from carillon.client import Client
from carillon.handlers import Context, Registry
from shared.domain.targets import parse_target
from tests.readme import README, examples, section
from tests.unit.api.world import World
from tests.unit.client.api import InProcess

#: An object that stands between grave accents.
_OBJECT = re.compile(r"`(\{[^`]*\})`")
SCHEDULES = [found for row in section("The API by example").splitlines() if row.startswith("| `{") for found in
             _OBJECT.findall(row)]  # fmt: skip


def test_the_request_of_the_readme_creates_the_job_it_shows() -> None:
    [example, _] = examples("The API by example")
    request, answer = example.split("→")
    line, _, body = request.partition("\n")
    method, path = line.split()
    reply = World().send(method, path, json.loads(body))
    assert answer.strip().startswith(f"{reply.status}, Location, ETag")
    assert {"location", "etag"} <= set(reply.headers)
    assert len(reply.json["next_slots"]) > 0


def test_every_kind_of_schedule_has_an_example() -> None:
    kinds = {name for text in SCHEDULES for name in json.loads(text)}
    assert {"at", "in", "every", "cron"} <= kinds


@pytest.mark.parametrize("text", SCHEDULES)
def test_a_schedule_of_the_readme_has_slots(text: str) -> None:
    reply = World().send("POST", "/v1/schedules/preview", {"schedule": json.loads(text), "count": 1})
    assert (reply.status, len(reply.json["items"])) == (200, 1), reply.text


def test_the_python_of_the_readme_makes_a_job_and_waits_for_its_run(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    [example] = examples("From Python", "python")

    class Ended(Client):
        """A worker that is done at once."""

        def wait_for_run(self, job_id: str, run_id: str | None = None, **_: object) -> Any:
            return {**self.get_run(job_id, run_id or ""), "status": "succeeded"}

    def connect(url: str, key: str) -> Client:
        return Ended(url, key, transport=InProcess(world.handler))

    # The import of the example is the client's; what it makes is ours.
    text = example.replace("with Client(url, key)", "with connect(url, key)")
    assert text != example
    exec(text, {"connect": connect, "url": "https://carillon.test", "key": world.key_text})  # noqa: S102 - the README's
    assert capsys.readouterr().out == "succeeded\n"
    assert world.job().job_id == "nightly-report"


def test_the_handler_of_the_readme_writes_under_its_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    monkeypatch.setattr("carillon.handlers.handler", registry.handler)
    written: list[dict[str, Any]] = []

    class Table:
        def put_item(self, **request: Any) -> None:
            written.append(request)

    [example] = examples("The API by example", "python")
    exec(example, {"table": Table()})  # noqa: S102 - the README's
    resize = registry.get("resize")
    assert resize is not None
    now = datetime(2026, 11, 27, tzinfo=UTC)
    context = Context("job", "run", now, now, 1, 7, now)
    assert resize(context, {"images": ["x", "y"]}) is None
    assert [request["Item"]["id"] for request in written] == ["x", "y"]
    assert all("ConditionExpression" in request for request in written)

    context.cancellation.set()
    assert resize(context, {"images": ["z"]}) == "stopped"
    assert len(written) == 2


def test_the_brake_of_the_readme_works() -> None:
    [(method, path, body)] = re.findall(r"`(PUT) (/v1/fleet/firing) (\{[^`]+\})`", README)
    assert World().send(method, path, json.loads(body)).status == 200


def test_the_grant_of_the_readme_is_one() -> None:
    [text] = re.findall(r"`(\{\"target_type\"[^`]+\})`", section("The API by example"))
    assert World().send("POST", "/v1/grants", json.loads(text)).status == 201


def test_the_targets_of_the_readme_are_targets() -> None:
    [_, text] = examples("The API by example")
    documents = json.loads(f"[{text.strip().replace(chr(10) + '{', ',{')}]")

    assert [parse_target(each)["type"] for each in documents] == ["http", "lambda", "aws"]
    for each in documents:
        assert each.items() <= parse_target(each).items()
