from __future__ import annotations

from pathlib import Path

from functions.worker import health
from functions.worker.process_host import HostSettings, LaneHost
from shared.adapters.system import SystemClock
from shared.observability.pulse import Pulse
from tests.unit.worker.workshop import Workshop

PATIENCE_SECONDS = 10


def test_every_loop_of_a_lane_gives_signs_of_life(tmp_path: Path) -> None:
    shop = Workshop()
    clock = SystemClock()
    pulse = Pulse(tmp_path)
    host = HostSettings(receivers=1, look_seconds=0.02)
    lane = LaneHost("default", shop.queue, shop.executor(), clock=clock, worker=shop.settings, host=host, pulse=pulse)
    asked = health.longest_seconds({"CARILLON_DEFAULT_QUEUE_URL": "https://queue"})
    lane.start()
    try:
        until = clock.monotonic() + PATIENCE_SECONDS
        while pulse.silent(asked) and clock.monotonic() < until:
            clock.sleep(0.01)
        assert pulse.silent(asked) == []
    finally:
        lane.stop_receiving()
        lane.drain(until=clock.monotonic() + PATIENCE_SECONDS)
    assert len(asked) == 4
