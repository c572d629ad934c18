"""Which authenticator a deployment has."""

from __future__ import annotations

from functions.api.authentication import KeyAuthenticator
from functions.api.backend import Backend
from functions.api.callers import Authenticator
from functions.api.gateway_identity import IamAuthenticator, JwtAuthenticator


def authenticator_of(backend: Backend) -> Authenticator:
    settings = backend.settings
    match settings.authentication:
        case "keys":
            return KeyAuthenticator(backend.access, backend.clock, backend.metrics)
        case "jwt":
            return JwtAuthenticator(settings.owner_claim, settings.scopes_claim, backend.clock)
        case "iam":
            return IamAuthenticator(settings.owner_claim, settings.admins)
