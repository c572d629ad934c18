"""Methods about keys and grants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from carillon.client.access_documents import Grant, Key, NewKey, NewSigningKey, Scope, SigningKey
from carillon.client.connection import Connection, path_to
from carillon.client.repeating import Repeat
from carillon.client.schedules import Moment


class AccessCalls:
    _connection: Connection

    def create_key(self, *, scopes: Sequence[Scope], name: str = "", expires_at: Moment | None = None) -> NewKey:
        """An API key of the owner, with no scope that the own key has not. Its text is shown this once.

        Raises MadeBefore, which names the key, when the answer that showed its text was lost: revoke it.
        """
        body = {"name": name, "scopes": list(scopes)} | ({} if expires_at is None else {"expires_at": expires_at})
        key: NewKey = self._connection.call("POST", path_to("keys"), body)
        return key

    def list_keys(self) -> Iterator[Key]:
        return self._connection.items(path_to("keys"))

    def revoke_key(self, key_id: str) -> Key:
        """It is refused within a minute. Raises KeyNotFound."""
        key: Key = self._connection.call("DELETE", path_to("keys", key_id))
        return key

    def create_signing_key(self) -> NewSigningKey:
        """A key that signs the owner's webhooks; two may live at once, and both sign."""
        key: NewSigningKey = self._connection.call("POST", path_to("signing-keys"))
        return key

    def list_signing_keys(self) -> Iterator[SigningKey]:
        return self._connection.items(path_to("signing-keys"))

    def delete_signing_key(self, key_id: str) -> None:
        """Raises KeyNotFound."""
        self._connection.call("DELETE", path_to("signing-keys", key_id), repeat=Repeat.UNSENT)

    def create_grant(
        self,
        *,
        target_type: Literal["http", "lambda", "aws", "secret"],
        resource: str,
        role_arn: str | None = None,
        members: Sequence[str] = (),
        hosts: Sequence[str] = (),
    ) -> Grant:
        """Let the owner's targets call an ARN, or a host. Needs scope admin; `owner` of the client says whose.

        `members` are the paths that a job may set of `ecs.RunTask`, such as `overrides.containerOverrides[].command`,
        each with `=value` where only that value is allowed. `hosts` says where a secret may be carried; `any` is
        wherever the owner's jobs may call.
        """
        body: dict[str, Any] = {"target_type": target_type, "resource": resource, "role_arn": role_arn}
        body |= {"members": list(members), "hosts": list(hosts)}
        grant: Grant = self._connection.call("POST", path_to("grants"), body)
        return grant

    def list_grants(self) -> Iterator[Grant]:
        return self._connection.items(path_to("grants"))

    def delete_grant(self, grant_id: str) -> None:
        """Raises GrantNotFound."""
        self._connection.call("DELETE", path_to("grants", grant_id), repeat=Repeat.UNSENT)
