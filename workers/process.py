"""One worker process: ``python -P -m workers.process``, started and restarted by the supervisor."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
from types import FrameType

from dramatiq import Worker

from workers.facts import FactWriter
from workers.forked import free_forked_children
from workers.secrecy import hide_environment

#: prctl(2): the signal that this process gets when its parent ends.
_PR_SET_PDEATHSIG = 1
#: How often a worker thread looks up from an empty queue, ms, and for each of its threads; only its end waits for
#: that. A thousand idle threads that look up five times a second cost much of a core.
_IDLE_MS, _IDLE_MS_A_THREAD = 200, 2
#: After how many new objects Python looks for unreachable cycles, and after how many looks at older ones. With
#: hundreds of sessions its defaults (700, 10, 10) cost half of the time that the store's lock is held.
_COLLECT = (20_000, 20, 50)
#: Between two signs of life.
_PULSE_S = 1.0


def main(arguments: list[str] | None = None) -> int:
    """Work until SIGTERM; returns the exit status. A second SIGTERM hands everything back at once."""
    parser = argparse.ArgumentParser(prog="python -m workers.process", description=__doc__)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--parent", type=int, default=None, help="end when this process has ended")
    parser.add_argument("--pulse", type=int, default=None, help="write a byte there, each second, to show life")
    parser.add_argument("--tell", type=int, default=None, metavar="FD", help="where the metrics are counted")
    options = parser.parse_args(arguments)
    stop = threading.Event()
    hide_environment()
    if options.pulse is not None:
        os.set_inheritable(options.pulse, False)
        threading.Thread(target=_beat, args=(options.pulse,), name="pulse", daemon=True).start()
    if options.parent is not None:
        _end_with(options.parent, stop)
    # The project's own modules (agents) come last, so that none of them hides a package.
    sys.path.append(os.getcwd())
    from workers.main import broker, life  # noqa: PLC0415  after the path is set, which settings rely on

    gc.freeze()  # what is imported stays: nobody need look at it again
    gc.set_threshold(*_COLLECT)
    if options.tell is not None:
        life.tell(FactWriter(options.tell).tell)

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            life.hurry()
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    free_forked_children()
    idle_ms = max(_IDLE_MS, _IDLE_MS_A_THREAD * options.threads)
    worker = Worker(broker, worker_threads=options.threads, worker_timeout=idle_ms)
    worker.start()
    stop.wait()
    worker.stop()
    broker.close()
    return 0


def _beat(pulse: int) -> None:
    still = threading.Event()
    # Nobody reads it any more once the supervisor is gone; then this process is told to stop anyway.
    with contextlib.suppress(BrokenPipeError):
        while True:
            os.write(pulse, b".")
            still.wait(_PULSE_S)


def _end_with(parent: int, stop: threading.Event) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        stop.set()


if __name__ == "__main__":
    sys.exit(main())
