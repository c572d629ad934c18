"""Exit codes, and what is said when something is wrong."""

from __future__ import annotations

import io
from argparse import Namespace

import httpx
import pytest

from carillon import cli
from carillon.cli.output import cell, first_of, table
from carillon.client import Client
from shared.domain.run import RunStatus
from tests.unit.cli.terminal import Terminal
from tests.unit.client.api import URL, FakeTime, end_run
from tests.unit.client.test_repeating import Script


def test_a_refusal_names_the_fields_and_the_fixes(carillon: Terminal) -> None:
    carillon("jobs", "create", "--cron", "nonsense", "--handler", "echo")
    assert (carillon.code, carillon.out) == (1, "")
    first, *others = carillon.err.splitlines()
    assert first.startswith("carillon: 400 invalid-request: ")
    assert others[0].startswith("  #/schedule/cron: ")
    assert others[1].startswith("      for example: ")
    assert others[-1] == "  request: request-1"


def test_no_answer_is_a_code_of_its_own(carillon: Terminal) -> None:
    def connect(chosen: Namespace) -> Client:
        refused = Script([httpx.ConnectError("refused")])
        return Client(chosen.url, chosen.key, transport=refused, time=FakeTime().seams)

    carillon("health", connect=connect)
    assert (carillon.code, carillon.err) == (
        3,
        "carillon: GET https://carillon.test/v1/health: no answer (ConnectError: refused); it was not sent\n",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "invalid choice"),
        (("jobs", "create", "a"), "a job needs a schedule"),
        (("jobs", "create", "--put", "--in", "PT5S", "--handler", "echo"), "--put and --create-only need a job_id"),
        (("jobs", "create", "--in", "PT5S", "--at", "2027-01-01T00:00:00Z"), "not allowed with"),
        (("jobs", "create", "--payload", "{"), "no JSON"),
        (("jobs", "create", "--definition", "[]"), "a JSON object is needed"),
        (("jobs", "create", "--definition", "@/nowhere/at-all.json"), "no JSON: "),
        (("jobs", "list", "--tag", "finance"), "a tag is written name:value"),
        (("jobs", "pause"), "name a job, or --group and --tag"),
        (("jobs", "pause", "nightly", "--group", "night"), "one of both"),
        (("jobs", "resume", "nightly", "--tag", "team:a"), "one of both"),
        (("jobs", "pause", "nightly", "--group", ""), "one of both"),
        (("jobs", "create", "--definition", "{}", "--timezone", "Europe/Berlin"), "--timezone belongs to --cron"),
        (("jobs", "get", ".."), "is no id"),
        (("preview",), "required"),
        (("keys", "rotate", "--key", "ey.jwt"), "the one of this call is no API key"),
    ],
)
def test_what_is_not_understood_is_a_code_of_its_own(carillon: Terminal, arguments: tuple[str, ...], said: str) -> None:
    carillon(*arguments)
    assert carillon.code == 2
    assert said in carillon.err


def test_without_an_address_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["health"], environ={})
    assert ended.value.code == 2
    assert "set CARILLON_URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("carillon.test", "crl_a_b", "starts with https://"),
        ("https://carillon.test:port", "crl_a_b", "is no address"),
        ("https://carillon.test", "crl_a_b\n", "a key is visible ASCII"),
    ],
)
def test_an_address_or_key_that_cannot_be_one_is_said(
    url: str, key: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["health"], environ={"CARILLON_URL": url, "CARILLON_KEY": key})
    assert ended.value.code == 2
    assert said in (told := capsys.readouterr().err)
    assert "crl_a_b" not in told


def test_options_are_taken_before_and_after_the_command(carillon: Terminal) -> None:
    assert carillon("--json", "health").out.startswith("{")
    assert carillon("health", "--json").out.startswith("{")


def test_a_list_says_that_there_is_more(carillon: Terminal) -> None:
    for name in "abc":
        carillon("jobs", "create", name, "--in", "PT1H", "--handler", "echo")
    assert len(carillon("jobs", "list", "--limit", "2").rows) == 3
    assert carillon.err == "there are more than these 2: use --limit\n"
    assert carillon("jobs", "list", "--limit", "3").err == ""


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    assert cell("a\x1b[2Jb\nc") == "a\\x1b[2Jb\\nc"
    assert cell("日本語") == "日本語"


def test_a_table_reaches_into_what_is_nested_and_shows_what_is_missing() -> None:
    shown = first_of(iter([{"a": 1, "b": {"c": [1, "x"]}}, {"a": None, "b": None}]), 5, ("a", "b.c"))
    assert table(shown.document, shown.columns) == "A  C\n1  1, x\n-  -"


def test_a_variable_that_is_not_set_selects_no_more_than_it_would(carillon: Terminal) -> None:
    for job_id, group in (("one", ""), ("two", "night")):
        carillon("jobs", "create", job_id, "--every", "PT1H", "--handler", "echo", "--group", group, "--tag", "team:a")
    carillon("jobs", "cancel", "--group", "")
    assert (carillon.code, "name a group, tags, or both" in carillon.err) == (1, True)
    assert [item["job_id"] for item in carillon.json("jobs", "cancel", "--group", "", "--tag", "team:a")] == ["one"]


def test_an_empty_schedule_is_refused_by_the_field(carillon: Terminal) -> None:
    carillon("preview", "--schedule", "{}")
    assert (carillon.code, "#/schedule" in carillon.err) == (1, True)


@pytest.mark.parametrize("arguments", [("owners", "erase", "acme", "--yes"), ("jobs", "delete", "nightly", "--purge")])
def test_an_erasure_that_is_not_done_is_no_success(carillon: Terminal, arguments: tuple[str, ...]) -> None:
    carillon("jobs", "create", "nightly", "--every", "PT1H", "--handler", "echo")
    run_id = carillon.json("jobs", "run", "nightly")["run_id"]
    end_run(carillon.world, "nightly", run_id, RunStatus.RUNNING)
    carillon(*arguments)
    assert carillon.code == 4
    assert "runs are alive: repeat it" in carillon.err


def test_what_the_terminal_cannot_say_is_shown_all_the_same(
    monkeypatch: pytest.MonkeyPatch, carillon: Terminal
) -> None:
    """The key is made, and shown this once."""
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    code = cli.main(
        ["--json", "keys", "create", "--scope", "read", "--name", "Größe"],
        environ={"CARILLON_URL": URL, "CARILLON_KEY": carillon.world.key_text},
        connect=carillon.connect,
    )
    assert (code, b"Gr\\xf6\\xdfe" in written.getvalue()) == (0, True)
