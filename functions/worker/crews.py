"""The threads of a lane: those of its handlers, and those that send its webhooks and take their answers.

A handler has a thread for as long as it takes. A webhook has one while it is sent, and one while its answer is looked
at; both take a moment, and at the longest a call of a store. In between nobody waits for it, and handlers that take
their time do not hold up what has been answered.
"""

from __future__ import annotations

from functions.worker.crew import Crew
from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.targets import Later


class Crews:
    def __init__(self, executor: Executor, *, count: int, spare: int) -> None:
        self._executor = executor
        self._handlers = Crew("handler", count=count, spare=spare)
        self._webhooks = Crew("webhook", count=count, spare=spare)
        self._both = (self._handlers, self._webhooks)

    @property
    def usable(self) -> int:
        """Threads that handlers can have."""
        return self._handlers.usable

    @property
    def is_stuck(self) -> bool:
        """Of one of them no thread can take work, and none will."""
        return any(crew.is_stuck for crew in self._both)

    def launch(self, live: LiveRun) -> None:
        """Start it on a thread; where none can be had, it is handed back."""
        crew = self._handlers if live.receiver is None else self._webhooks
        if not crew.submit(live, lambda: self._await(live, self._executor.execute(live))):
            self._executor.hand_back(live)

    def revive(self) -> None:
        """Try again to start threads where the last one did not; to be called now and then."""
        for crew in self._both:
            crew.revive()

    def abandon(self, live: LiveRun) -> None:
        """The run has ended without its thread, if it has one."""
        for crew in self._both:
            crew.abandon(live)

    def close(self) -> None:
        """Let each thread end when it is done with what it has. Answers that come later are not looked at."""
        for crew in self._both:
            crew.close()

    def _await(self, live: LiveRun, later: Later | None) -> None:
        if later is not None:
            later.answer.add_done_callback(lambda _: self._answered(live, later))

    def _answered(self, live: LiveRun, later: Later) -> None:
        """On whatever thread brought the answer, which has others to bring."""

        def go_on() -> None:
            self._await(live, self._executor.go_on(live, later))

        if not self._webhooks.submit(live, go_on) and not self._webhooks.is_closed:
            # The host gives no thread just now: the others wait a moment longer for their answers.
            go_on()
