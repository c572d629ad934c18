"""An OIDC issuer on loopback: its discovery document, its keys, and tokens of every kind, good and bad."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hmac import digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

KEY_ID = "signer-1"
AUDIENCE = "carillon"
LIVES_SECONDS = 3_600


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@dataclass
class Issuer:
    """`seen` are the paths that it was asked for."""

    url: str
    key: rsa.RSAPrivateKey = field(default_factory=new_key)
    seen: list[str] = field(default_factory=list)

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Of a good token; a change to None leaves a claim out."""
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "auth0|42",
            "tenant": "acme",
            "scope": "read write",
            "iat": now - 10,
            "exp": now + LIVES_SECONDS,
        }
        return {name: value for name, value in {**usual, **changes}.items() if value is not None}

    def token(self, *, key: rsa.RSAPrivateKey | None = None, key_id: str = KEY_ID, **changes: Any) -> str:
        """Signed by RS256, with the issuer's key unless another one is given."""
        signed = unsigned({"alg": "RS256", "typ": "JWT", "kid": key_id}, self.claims(**changes))
        return f"{signed}.{encoded((key or self.key).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def token_by_public_key(self) -> str:
        """Signed by HS256 with the public key for a secret: what a verifier accepts that believes a token's `alg`."""
        public = self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        signed = unsigned({"alg": "HS256", "typ": "JWT", "kid": KEY_ID}, self.claims())
        return f"{signed}.{encoded(digest(public, signed.encode(), 'sha256'))}"

    def document(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        numbers = self.key.public_key().public_numbers()
        key = {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": KEY_ID,
            "n": number(numbers.n),
            "e": number(numbers.e),
        }
        return {"keys": [key]} if path == "/keys" else None


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(claims).encode())}"


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def number(value: int) -> str:
    return encoded(value.to_bytes(-(-value.bit_length() // 8), "big"))


@contextmanager
def issuer() -> Iterator[Issuer]:
    """An issuer on a free port, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running.seen.append(self.path)
            document = running.document(self.path)
            self.send_response(200 if document else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Issuer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
