"""A worker process of the crash tests: as workers/process.py makes one, with the boundaries around its ports.

``CRASH_AT`` names the point at which it kills itself, ``CRASH_POINTS`` the file in which it lists those that it
passed, once it is told to stop. ``CRASH_ORACLE`` is the oracle's directory.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

from dramatiq import Worker

from nonoka.engine.ports import Ports
from nonoka.settings import load_settings
from tests.support.boundaries import Boundaries, Point
from tests.support.oracle import Oracle, RecordingModels
from workers.broker import worker_broker
from workers.logs import set_up_logging


def main() -> None:
    """Work until SIGTERM, or until the point."""
    settings = load_settings(Path.cwd(), os.environ)
    set_up_logging(settings.log_level)
    at = os.environ.get("CRASH_AT")
    boundaries = Boundaries(Point.parsed(at) if at else None, _kill_itself)
    oracle = Oracle(Path(os.environ["CRASH_ORACLE"]))

    def wrap(ports: Ports) -> Ports:
        return boundaries.wrap(replace(ports, models=RecordingModels(ports.models, oracle)))

    broker, _ = worker_broker(settings, wrap=wrap)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    worker = Worker(broker, worker_threads=4, worker_timeout=200)
    worker.start()
    stop.wait()
    worker.stop()
    broker.close()
    if listed := os.environ.get("CRASH_POINTS"):
        Path(listed).write_text("\n".join(map(str, boundaries.passed)))


def _kill_itself(point: Point) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
