"""The environment that children run in, and the two questions asked before anything is deployed.

Nothing here may ever reach a real account by accident. Children therefore inherit a short list of names and nothing
else: no credentials, profile or endpoint of AWS, no settings of the CDK or of Python, no proxy. Their AWS
configuration files are empty, the metadata service is off, and their keys are worth nothing.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

REGION = "us-east-1"
ACCOUNT = "000000000000"

#: The variable that names whom clients with TLS trust, of Python and of uv.
TRUSTED = "SSL_CERT_FILE"

INHERITED = frozenset(
    [
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "CI"),
        *("TERM", "COLUMNS", "LINES", "LANG", "LANGUAGE", "NO_COLOR", "FORCE_COLOR"),
        *(TRUSTED, "SSL_CERT_DIR"),
        # Not all of CARILLON_: the caller may have a table or a queue of a real deployment there.
        *("CARILLON_UV", "CARILLON_ADOPT", "CARILLON_EMULATOR"),
    ]
)
INHERITED_PREFIXES = ("LC_",)
# Bundling installs Python packages, and uv finds its index, its cache and its certificates in these.
INHERITED_BY_TOOLS = ("UV_", "XDG_", "NODE_EXTRA_CA_CERTS")

HARMLESS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
    # Time zones come from the tzdata package on every machine, not from the host.
    "PYTHONTZPATH": "",
    # Output of a child is read while it runs.
    "PYTHONUNBUFFERED": "1",
}


class UnsafeTarget(Exception):
    """What was about to be deployed to is not the emulator of this machine."""


def scrubbed(environ: Mapping[str, str], *, endpoint: str | None = None) -> dict[str, str]:
    """What a child sees. Without an endpoint its AWS calls go nowhere useful: the keys are worth nothing.

    Raises:
        UnsafeTarget: the endpoint is not on this machine.
    """
    kept = {name: value for name, value in environ.items() if _is_inherited(name)}
    if endpoint is None:
        return {**kept, **HARMLESS}
    require_loopback(endpoint)
    return {**kept, **HARMLESS, "AWS_ENDPOINT_URL": endpoint, **_trusting(kept, endpoint)}


def for_tools(environ: Mapping[str, str], *, endpoint: str | None = None) -> dict[str, str]:
    """What the CDK command line and the bundling below it see."""
    settings = {name: value for name, value in environ.items() if name.startswith(INHERITED_BY_TOOLS)}
    quiet = {"CDK_DISABLE_CLI_TELEMETRY": "true", "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1"}
    return {**settings, **scrubbed(environ, endpoint=endpoint), **quiet}


def require_loopback(endpoint: str) -> None:
    """Refuses everything but this machine.

    Raises:
        UnsafeTarget: the endpoint is not an address of this machine alone.
    """
    parts = urlsplit(endpoint)
    if parts.scheme in ("http", "https") and _is_loopback(parts.hostname or ""):
        return
    raise UnsafeTarget(f"{endpoint} is not on this machine's loopback; the local stack runs nowhere else")


def require_local_account(account: str) -> None:
    """Refuses every account but the emulator's.

    Raises:
        UnsafeTarget: the endpoint speaks for an account that is not the emulator's.
    """
    if account != ACCOUNT:
        raise UnsafeTarget(f"the endpoint answers for account {account}, and only {ACCOUNT} is the emulator's")


def _trusting(kept: Mapping[str, str], endpoint: str) -> dict[str, str]:
    """For the clients that do not ask `TRUSTED`: boto3, and Node."""
    if urlsplit(endpoint).scheme != "https" or TRUSTED not in kept:
        return {}
    return {"AWS_CA_BUNDLE": kept[TRUSTED], "NODE_EXTRA_CA_CERTS": kept[TRUSTED]}


def _is_inherited(name: str) -> bool:
    return name in INHERITED or name.startswith(INHERITED_PREFIXES)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
