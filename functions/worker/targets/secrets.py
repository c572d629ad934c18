"""Secrets that webhooks carry, read from Secrets Manager when they are needed and held in memory for a while."""

from __future__ import annotations

from dataclasses import dataclass

from functions.worker.targets.remembered import Remembered
from shared.domain.errors import WriteRefused
from shared.ports import Clock
from shared.ports.aws_api import AwsApi, AwsCall, Role

REMEMBERED_SECONDS = 300.0
_READ_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True)
class SecretRef:
    """With the role, so that nobody is given what was read under the rights of another."""

    arn: str
    role: Role | None


class Secrets:
    def __init__(self, api: AwsApi, clock: Clock) -> None:
        self._api = api
        self._remembered = Remembered(self._read, clock, seconds=REMEMBERED_SECONDS)

    def text_of(self, ref: SecretRef) -> str:
        """Raises StoreError."""
        return self._remembered(ref)

    def forget(self, ref: SecretRef) -> None:
        """It was refused by its receiver: it may have been replaced."""
        self._remembered.forget(ref)

    def _read(self, ref: SecretRef) -> str:
        answer = self._api.call(
            AwsCall(
                client="secretsmanager",
                operation="GetSecretValue",
                parameters={"SecretId": ref.arn},
                region=ref.arn.split(":")[3],
                timeout_ms=_READ_TIMEOUT_MS,
                role=ref.role,
            )
        )
        text = answer.get("SecretString")
        if not isinstance(text, str):
            raise WriteRefused("secretsmanager.GetSecretValue", "the secret is binary; a webhook carries text")
        return text
