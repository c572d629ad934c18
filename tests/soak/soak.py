"""The soak: drive, disturb, settle, judge."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Final

import httpx

from localstack.faults import faults
from localstack.stack import Stack
from tests.soak.asking import Asker, Unanswered
from tests.soak.chaos import Chaos
from tests.soak.driver import Driver
from tests.soak.judge import ALIVE, Rows, problems
from tests.soak.ledger import Ledger
from tests.soak.receiver import now_ms, receiving

#: Between two requests.
PAUSE_SECONDS: Final = 0.25
SAMPLE_SECONDS: Final = 5.0
#: For what was under way, or has piled up, to end: longer than the longest run, its retries, and a take-over.
SETTLE_SECONDS: Final = 180.0
LOOK_SECONDS: Final = 3.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Verdict:
    summary: str
    #: How often each route answered with each status.
    answers: str
    #: By rule: what broke it.
    problems: dict[str, list[str]]


def soak_stack(stack: Stack, *, seconds: float, seed: int, say: Say) -> Verdict:
    """A local stack, with webhooks and with chaos."""
    ledger = Ledger()
    with ExitStack() as meanwhile:
        receiver = meanwhile.enter_context(receiving(ledger))
        proxy = meanwhile.enter_context(faults(stack.workspace, stack.endpoint))
        stack.route(proxy.endpoint)
        meanwhile.callback(stack.route, None)
        api = meanwhile.enter_context(_api(stack.api_url, stack.key))
        driver = Driver(Asker(api, ledger), Random(f"driver-{seed}"), receiver)
        is_over = Event()
        chaos = Chaos(stack, proxy, ledger, Random(f"chaos-{seed}"), is_over, say)
        with _beside(chaos.run, is_over), _beside(lambda: _sample(stack, ledger, is_over), is_over):
            _drive(driver, seconds)
        stack.wait_for_tasks("scheduler", 2)
        return _settled(driver)


def soak_deployment(url: str, key: str, *, seconds: float, seed: int) -> Verdict:
    """Whatever answers at `url`, undisturbed; its jobs call the handler `echo`."""
    with _api(url, key) as api:
        driver = Driver(Asker(api, Ledger()), Random(f"driver-{seed}"), None)
        _drive(driver, seconds)
        return _settled(driver)


def _drive(driver: Driver, seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        try:
            driver.act()
        except Unanswered:
            # Noted in the ledger. What became of the job is unknown, so it is asked for no more.
            continue
        time.sleep(PAUSE_SECONDS)


def _settled(driver: Driver) -> Verdict:
    ledger, until = driver.ledger, now_ms()
    # A deletion drops what is late, so what is late comes first.
    _look(driver, lambda rows: "no slot is lost" not in problems(ledger, rows, until))
    driver.stop()
    rows = _look(driver, lambda rows: not any(row["status"] in ALIVE for found in rows.values() for row in found))
    answers = ", ".join(f"{route} {status} x {count}" for (route, status), count in sorted(ledger.answers.items()))
    return Verdict(_summary(ledger, rows), answers, problems(ledger, rows, until))


def _look(driver: Driver, is_settled: Callable[[Rows], bool]) -> Rows:
    """The rows, once they are as they should be or SETTLE_SECONDS are over."""
    give_up_at = time.monotonic() + SETTLE_SECONDS
    rows: Rows = driver.rows()
    while not is_settled(rows) and time.monotonic() < give_up_at:
        time.sleep(LOOK_SECONDS)
        rows = driver.rows()
    return rows


def _summary(ledger: Ledger, rows: Rows) -> str:
    all_rows = [row for found in rows.values() for row in found]
    statuses = Counter(row["status"] for row in all_rows)
    attempts = Counter(len(row["attempts"]) for row in all_rows)
    return (
        f"{len(ledger.lives)} jobs, {len(all_rows)} rows ({dict(statuses)}), {len(ledger.deliveries)} deliveries, "
        f"attempts {dict(sorted(attempts.items()))}, {len(ledger.worker_troubles)} troubles of workers"
    )


def _sample(stack: Stack, ledger: Ledger, is_over: Event) -> None:
    while not is_over.wait(SAMPLE_SECONDS):
        for name, task in stack.tasks().items():
            resident = _resident_bytes(task.pid)
            if resident is not None:
                ledger.memory.setdefault(f"{name} ({task.pid})", []).append(resident)


def _resident_bytes(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    found = [line.split() for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0][1]) * 1024 if found else None


@contextmanager
def _api(url: str, key: str) -> Iterator[httpx.Client]:
    # Straight to where it says, whatever proxy somebody's environment names.
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False) as api:
        yield api


@contextmanager
def _beside(work: Callable[[], None], is_over: Event) -> Iterator[None]:
    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def told(verdict: Verdict) -> Iterator[str]:
    """Lines for a person: each broken rule with a few of what broke it."""
    yield verdict.summary
    yield verdict.answers
    for rule, found in verdict.problems.items():
        yield f"broken: {rule} ({len(found)})"
        yield from (f"  {sentence}" for sentence in found[:10])
    yield "every rule holds" if not verdict.problems else f"{len(verdict.problems)} rules are broken"
