"""The client that users have, at the local stack."""

from __future__ import annotations

import httpx

from carillon.client import Client
from localstack.running import Stack


def client_of(stack: Stack) -> Client:
    """Straight to this machine, whatever proxy somebody's environment names."""
    return Client(stack.api_url, stack.key, transport=httpx.HTTPTransport())
