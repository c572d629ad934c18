"""What the make targets run, once the checkout is set up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING

from localstack import cdk
from localstack.environment import for_tools
from localstack.toolchain.paths import INFRA, LOCAL, ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Tests that need no server and no clock, and so may run beside each other.
FAST = ("tests/unit", "tests/architecture")
SIMULATION = "tests/simulation"
#: The others mostly wait. Groups that share a server stay together: see tests/conftest.py.
TWO_AT_ONCE = ("-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", "--durations", "25")
ON_ALL_CORES = ("-n", "auto", "--dist", "worksteal")
NO_TESTS_COLLECTED = 5
KEY = "CARILLON_KEY"
NOTHING: Mapping[str, str] = MappingProxyType({})


def check(_arguments: Sequence[str] = ()) -> int:
    """Format, lint, types, known weaknesses, bills of materials; all run, so that one round shows everything."""
    results = [
        _python("ruff", "format", "--check", "."),
        _python("ruff", "check", "."),
        _python("mypy"),
        _python("infra.audit"),
        _python("infra.sbom", str(LOCAL / "sbom")),
    ]
    return max(results)


def format_code(_arguments: Sequence[str] = ()) -> int:
    return max(_python("ruff", "check", "--fix", "."), _python("ruff", "format", "."))


def unit(arguments: Sequence[str]) -> int:
    return _pytest(*ON_ALL_CORES, *FAST, *arguments)


def time_cases(arguments: Sequence[str]) -> int:
    """The collected cases, and as many random ones against brute force as CARILLON_DIFFERENTIAL says."""
    return _pytest("tests/unit/schedules", *arguments)


def simulate(arguments: Sequence[str]) -> int:
    """`SEEDS` worlds from seed `FIRST` on."""
    return _python("tests.simulation", *arguments)


def api_fuzz(arguments: Sequence[str]) -> int:
    """Thousands of generated requests and chains of them against the running stack; it must find nothing."""
    return _python("tests.fuzz.api_fuzz", *(arguments or ("--cases", "1000", "--chain-seconds", "60")))


def acceptance(arguments: Sequence[str]) -> int:
    return _pytest("tests/acceptance", *arguments)


def soak(arguments: Sequence[str]) -> int:
    """Everything at once for a while, judged by a ledger of its own."""
    # Of the deployment that it runs against, if any.
    key = {KEY: os.environ[KEY]} if KEY in os.environ else {}
    return _python("tests.soak", *arguments, besides=key)


def bench(arguments: Sequence[str]) -> int:
    """All benchmarks, or those named; not part of `test`, for times differ from machine to machine."""
    return _python("tests.benchmarks", *arguments)


def test(arguments: Sequence[str]) -> int:
    """Everything that must be green. The tests run even when the check fails: both are worth knowing."""
    checked = check()
    fast = unit(arguments)
    simulated = _pytest(*ON_ALL_CORES, SIMULATION, *arguments)
    elsewhere = (f"--ignore={path}" for path in (*FAST, SIMULATION, "tests/benchmarks"))
    slow = _pytest("tests", *elsewhere, *TWO_AT_ONCE, *arguments)
    if checked:
        print("check failed: see above, before the tests", flush=True)
    return max(checked, fast, simulated, slow)


def synth(arguments: Sequence[str]) -> int:
    """The templates as they would be deployed to AWS; needs neither credentials nor a network."""
    environ = cdk.environ(home=LOCAL / "cdk")
    done = subprocess.run(cdk.command("synth", "--quiet", *arguments), cwd=INFRA, env=environ, check=False)
    if done.returncode == 0:
        print(f"templates: {INFRA.relative_to(ROOT)}/cdk.out", flush=True)
        out = INFRA / "cdk.out"
        return max(_python("infra.sbom", str(out / "sbom")), _python("infra.cost", str(out)))
    return done.returncode


def _pytest(*arguments: str) -> int:
    result = _python("pytest", *arguments)
    if result == NO_TESTS_COLLECTED:
        print("no test was found", flush=True)
    return result


def _python(module: str, *arguments: str, besides: Mapping[str, str] = NOTHING) -> int:
    command = [sys.executable, "-P", "-m", module, *arguments]
    # A group of its own, so that an interruption reaches it once, through us, and its fixtures may end what they began.
    environ = {**for_tools(os.environ), "PATH": cdk.path(), **besides}
    child = subprocess.Popen(command, cwd=ROOT, env=environ, process_group=0)
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise
