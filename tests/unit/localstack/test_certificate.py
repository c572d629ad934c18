from __future__ import annotations

import os
import ssl
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from localstack import certificate
from localstack.certificate import certificate_in, trusting
from localstack.environment import TRUSTED, scrubbed


@pytest.fixture(autouse=True)
def no_other_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRUSTED, raising=False)


def test_a_certificate_is_kept_until_it_has_little_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = certificate_in(tmp_path).path.read_bytes()
    assert certificate_in(tmp_path).path.read_bytes() == first

    monkeypatch.setattr(certificate, "LEFT", certificate.VALID_FOR + timedelta(minutes=1))
    assert certificate_in(tmp_path).path.read_bytes() != first


def test_a_client_that_trusts_it_trusts_its_own_authorities_as_well(tmp_path: Path) -> None:
    made = certificate_in(tmp_path)
    usual, extended = ssl.create_default_context(), ssl.create_default_context(cafile=str(made.trusted))

    assert extended.cert_store_stats()["x509"] >= max(1, usual.cert_store_stats()["x509"])


def test_nobody_else_reads_its_key(tmp_path: Path) -> None:
    assert stat.S_IMODE(certificate_in(tmp_path).key.stat().st_mode) == 0o600


def test_it_is_trusted_meanwhile_and_not_afterwards(tmp_path: Path) -> None:
    made = certificate_in(tmp_path)
    with trusting(made):
        assert os.environ[TRUSTED] == str(made.trusted)
    assert TRUSTED not in os.environ


def test_what_was_trusted_before_is_trusted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUSTED, "/mine")
    with trusting(certificate_in(tmp_path)):
        pass
    assert os.environ[TRUSTED] == "/mine"


def test_children_of_an_endpoint_with_tls_are_told_whom_to_trust_and_others_are_not() -> None:
    mine = {TRUSTED: "/mine", "AWS_CA_BUNDLE": "/somebody's"}

    told = scrubbed(mine, endpoint="https://127.0.0.1:4566")
    assert (told["AWS_CA_BUNDLE"], told["NODE_EXTRA_CA_CERTS"]) == ("/mine", "/mine")
    assert "AWS_CA_BUNDLE" not in scrubbed(mine, endpoint="http://127.0.0.1:4566")
    assert "AWS_CA_BUNDLE" not in scrubbed({}, endpoint="https://127.0.0.1:4566")
