"""`python -P -m functions.worker`: poll the lanes of the environment until SIGTERM."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys

from functions.worker.wiring import process_host_from

#: A thread that is due waits for the interpreter this long at most, instead of the default 5 ms: that is drift.
_SWITCH_SECONDS = 0.000_5


def main() -> int:
    sys.setswitchinterval(_SWITCH_SECONDS)
    # A socket for each webhook in flight: systems allow a thousand files until a process asks for more.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    host = process_host_from(os.environ)
    # What was imported stays for good: a collection that walked it all would stop every due run for tens of ms.
    gc.collect()
    gc.freeze()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: host.stop())
    return host.run()


if __name__ == "__main__":
    sys.exit(main())
