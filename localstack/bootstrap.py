"""Entry of every make target: sets the checkout up, then runs the command with the project's Python.

    python3 localstack/bootstrap.py doctor [environment] | prefetch | <a command of `python -m localstack`>

Standard library only, for Python 3.8 and later: it runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

sys.path[0] = str(Path(__file__).resolve().parents[1])

from localstack.toolchain.account import problems_of_account  # noqa: E402
from localstack.toolchain.doctor import all_findings, quick_findings  # noqa: E402 - the path comes first
from localstack.toolchain.microburst import ensure_microburst  # noqa: E402
from localstack.toolchain.node import ensure_cdk, ensure_node, node_environment  # noqa: E402
from localstack.toolchain.packages import ensure_packages, prefetch_bundles  # noqa: E402
from localstack.toolchain.paths import LOCAL, ROOT, VENV_PYTHON  # noqa: E402
from localstack.toolchain.problem import SetupProblem  # noqa: E402
from localstack.toolchain.uv import ensure_uv  # noqa: E402
from localstack.toolchain.uv_settings import uv_environment  # noqa: E402

WITHOUT_CDK = ("check", "format", "unit", "time-cases", "simulate", "down")
WITH_FAULTS = ("prefetch", "test", "acceptance", "soak")
WITH_BUNDLES = ("prefetch", "synth", "test", "infra-tests")


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    os.chdir(str(ROOT))
    try:
        if arguments[0] == "doctor":
            return doctor(environment=arguments[1] if len(arguments) > 1 else "dev")
        environ = set_up(arguments[0])
    except SetupProblem as problem:
        print(f"problem: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if arguments[0] in ("prefetch", "setup"):
        return 0
    return become([str(VENV_PYTHON), "-P", "-m", "localstack", *arguments], environ)


def doctor(environment: str) -> int:
    findings = list(all_findings(uv_environment(os.environ)))
    for finding in findings:
        print(finding.line())
    problems = [finding for finding in findings if finding.fix]
    print(f"{len(problems)} problem(s)" if problems else "ready: make demo")
    # Without buffering: the account's own lines come from another process.
    sys.stdout.flush()
    return 1 if problems_of_account(os.environ, environment) or problems else 0


def set_up(command: str) -> dict[str, str]:
    """Installs what the command needs and returns the environment to run it in."""
    for finding in quick_findings():
        if finding.fix:
            raise SetupProblem(finding.what, fix=finding.fix)
    environ = uv_environment(os.environ)
    with one_at_a_time():
        uv = ensure_uv(environ)
        ensure_packages(uv, environ)
        environ["CARILLON_UV"] = str(uv)
        if command not in WITHOUT_CDK:
            node = ensure_node(environ)
            environ = node_environment(environ)
            ensure_cdk(node, environ)
        if command in WITH_FAULTS:
            ensure_microburst(uv, environ)
        if command in WITH_BUNDLES:
            prefetch_bundles(uv, environ)
    return environ


def become(command: list[str], environ: dict[str, str]) -> NoReturn:
    """Ctrl-C then reaches the command itself, with nobody in between."""
    sys.stdout.flush()
    os.execve(command[0], command, environ)  # noqa: S606 - the project's own Python


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two commands started together install one after the other, not into each other."""
    LOCAL.mkdir(exist_ok=True)
    # What lies below it is run: another user of the machine must not be able to add to it.
    LOCAL.chmod(0o700)
    with (LOCAL / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
