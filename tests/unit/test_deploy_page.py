"""The page about deploying: its settings are accepted, its modules are there, and what it says of versions is so."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from infra.deployer.documents import documents
from infra.environments import PROD
from infra.preflight.judging import FARGATE_ZONES
from infra.settings import override, require_alarms
from shared.domain.message import READABLE_VERSIONS, VERSION

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "infra" / "DEPLOY.md").read_text()
SETTINGS = re.findall(r"-c settings='([^']+)'", PAGE)


def test_there_is_an_example_of_alarms_domain_and_tokens() -> None:
    examples = [override(PROD, each) for each in SETTINGS]
    assert all(each.alarm_email for each in examples)
    assert any(each.custom_domain for each in examples)
    assert any(each.auth.mode == "jwt" for each in examples)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_example_is_accepted_as_it_stands(settings: str) -> None:
    require_alarms(override(PROD, settings))


def test_every_program_that_it_names_is_there() -> None:
    programs = set(re.findall(r"python -P -m ([\w.]+)", PAGE))
    assert {"infra.preflight", "infra.prove", "infra.deployer"} <= programs
    assert all(importlib.util.find_spec(name) for name in programs)


def test_it_names_every_policy() -> None:
    assert all(name in PAGE for name in documents("Carillon"))


def test_it_names_the_regions_where_not_every_zone_will_do() -> None:
    assert all(region in PAGE for region in FARGATE_ZONES)


def test_a_release_reads_its_own_messages_and_the_next_ones() -> None:
    """What the comparison before going back rests on."""
    assert list(READABLE_VERSIONS) == [VERSION, VERSION + 1]
    assert re.search(r"^VERSION = \d+$", (ROOT / "shared" / "domain" / "message.py").read_text(), flags=re.MULTILINE)


def test_the_readme_leads_to_it() -> None:
    assert "infra/DEPLOY.md" in (ROOT / "README.md").read_text()
