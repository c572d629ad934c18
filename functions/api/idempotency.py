"""Idempotency-Key (IETF draft 07): what it did is kept in a receipt, written in one transaction with its effect
(of a redrive: before it).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from functions.api.refusals import KeyReused
from shared.domain.access import Chosen, Receipt
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.limits import IDEMPOTENCY_KEPT_MS, MAX_IDEMPOTENCY_KEY_LENGTH
from shared.ports import AccessStore

_QUOTED = re.compile(r'"(?P<inside>(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
_BARE = re.compile(r"[\x21\x23-\x7e]+")
_EXAMPLE = "8e03978e-40d5-43e8-bc93-6894a57f9324"


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request under an Idempotency-Key. `fingerprint` tells whether another one is the same request."""

    owner_id: str
    idempotency_key: str
    fingerprint: str

    def of_item(self, item: int | str) -> KeyedRequest:
        """The same key for one item of a request of many; no header can hold a line break."""
        return replace(self, idempotency_key=f"{self.idempotency_key}\n{item}")

    def random_bytes(self, count: int) -> bytes:
        """The same for the same owner and key: ids that the server makes derive from them."""
        return sha256(f"{self.owner_id}\n{self.idempotency_key}".encode()).digest()[:count]

    def receipt_for(self, job: Job, at: Instant) -> Receipt:
        return Receipt(
            owner_id=self.owner_id,
            idempotency_key=self.idempotency_key,
            fingerprint=self.fingerprint,
            at=at,
            job_id=job.job_id,
            generation=job.generation,
            revision=job.revision,
            expires_at=Instant(at + IDEMPOTENCY_KEPT_MS),
        )

    def receipt_of(self, access_id: str, at: Instant) -> Receipt:
        """For a key, a signing key or a grant."""
        expires_at = Instant(at + IDEMPOTENCY_KEPT_MS)
        return Receipt(self.owner_id, self.idempotency_key, self.fingerprint, at, expires_at, access_id=access_id)

    def receipt_of_choice(self, chosen: Iterable[Chosen], next_cursor: str | None, at: Instant) -> Receipt:
        """For a request about many things, by the first look at them: its repeat is about the same ones."""
        expires_at = Instant(at + IDEMPOTENCY_KEPT_MS)
        receipt = Receipt(self.owner_id, self.idempotency_key, self.fingerprint, at, expires_at)
        return replace(receipt, chosen=tuple(chosen), next_cursor=next_cursor)

    def check(self, receipt: Receipt) -> Receipt:
        """The receipt of this very request. Raises KeyReused when it is of another."""
        if receipt.fingerprint != self.fingerprint:
            raise KeyReused(self.idempotency_key)
        return receipt


def earlier(keyed: KeyedRequest | None, access: AccessStore) -> Receipt | None:
    """What this very request did when it was sent before. Raises KeyReused."""
    receipt = None if keyed is None else access.receipt(keyed.owner_id, keyed.idempotency_key)
    return None if receipt is None or keyed is None else keyed.check(receipt)


def read_idempotency_key(header: str | None) -> str | None:
    """The key in a header, quoted (as the draft has it) or bare. Raises InvalidRequest."""
    if header is None:
        return None
    text = header.strip()
    quoted = _QUOTED.fullmatch(text)
    key = re.sub(r"\\(.)", r"\1", quoted["inside"]) if quoted else text
    if not key or not (quoted or _BARE.fullmatch(text)):
        detail = "an Idempotency-Key is visible ASCII, bare or in double quotes"
        raise InvalidRequest(FieldProblem("#/Idempotency-Key", detail, _EXAMPLE))
    if len(key) > MAX_IDEMPOTENCY_KEY_LENGTH:
        detail = f"an Idempotency-Key has at most {MAX_IDEMPOTENCY_KEY_LENGTH} characters, this one has {len(key)}"
        raise InvalidRequest(FieldProblem("#/Idempotency-Key", detail, _EXAMPLE))
    return key
