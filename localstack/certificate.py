"""A certificate of the emulator's own, and how this process and its children come to trust it, and only meanwhile."""

from __future__ import annotations

import ipaddress
import os
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localstack.environment import TRUSTED

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
VALID_FOR = timedelta(days=2)
#: A stack that somebody borrows does not outlive it.
LEFT = timedelta(hours=12)


@dataclass(frozen=True)
class Certificate:
    """`trusted` are this machine's authorities and the certificate itself: what clients are given replaces theirs."""

    path: Path
    key: Path
    trusted: Path


def certificate_in(folder: Path) -> Certificate:
    """The one of a stack's folder, made anew if it is not, or not much longer, valid."""
    kept = Certificate(folder / "server.crt", folder / "server.key", folder / "trusted.pem")
    return kept if _is_valid(kept) else _make(kept)


def _make(made: Certificate) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = _signed(key).public_bytes(serialization.Encoding.PEM)
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    made.key.unlink(missing_ok=True)
    made.key.touch(mode=0o600)
    made.key.write_bytes(written)
    made.path.write_bytes(pem)
    made.trusted.write_bytes(_of_this_machine() + b"\n" + pem)
    return made


@contextmanager
def trusting(certificate: Certificate) -> Iterator[None]:
    """While it lasts, clients of this process and the children it starts trust the certificate."""
    before = os.environ.get(TRUSTED)
    os.environ[TRUSTED] = str(certificate.trusted)
    try:
        yield
    finally:
        if before is None:
            del os.environ[TRUSTED]
        else:
            os.environ[TRUSTED] = before


def _signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Carillon, local stack")])
    now = datetime.now(UTC)
    # No authority: who trusts it trusts this address, and nothing else that its key might sign.
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )


def _is_valid(kept: Certificate) -> bool:
    if not all(path.is_file() for path in (kept.path, kept.key, kept.trusted)):
        return False
    until = x509.load_pem_x509_certificate(kept.path.read_bytes()).not_valid_after_utc
    return until - datetime.now(UTC) > LEFT


def _of_this_machine() -> bytes:
    """The authorities that Python's own clients trust; none where there is no such file."""
    authorities = Path(ssl.get_default_verify_paths().cafile or "")
    return authorities.read_bytes() if authorities.is_file() else b""
