"""The account that somebody's credentials name, for who is going to deploy to it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from localstack.toolchain.paths import ROOT, VENV_PYTHON

#: Each of them says whose credentials to use; a file in the home folder alone does not mean this checkout.
_CREDENTIALS = ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")
_ENDPOINT = "AWS_ENDPOINT_URL"


def is_named(environ: Mapping[str, str]) -> bool:
    """Credentials were chosen, and they are not for an emulator."""
    return any(environ.get(name) for name in _CREDENTIALS) and not environ.get(_ENDPOINT)


def problems_of_account(environ: Mapping[str, str], environment: str) -> bool:
    """Prints what the account lacks for a deployment of this environment; whether anything is in the way."""
    if not is_named(environ):
        print("no credentials of AWS are set: no account was looked at")
        return False
    if not VENV_PYTHON.exists():
        print("the account was not looked at: the Python packages are not installed yet")
        return False
    command = [str(VENV_PYTHON), "-P", "-m", "infra.preflight", "--environment", environment]
    return subprocess.call(command, cwd=str(ROOT), env=dict(environ)) != 0
