"""``nonoka worker``: keeps N worker processes going until it is told to stop."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

from nonoka.errors import UsageError
from nonoka.settings import Settings
from workers.middleware import EXIT_UNUSABLE
from workers.secrecy import hide_environment

if TYPE_CHECKING:
    from workers.metrics import Metrics

#: Between two looks at the children.
_LOOK_S = 0.1
#: A child that lived shorter than this many looks is started again only after a pause that doubles.
_SHORT_LIFE_LOOKS = 50
_LONGEST_PAUSE_LOOKS = 300
#: A child that has shown no sign of life for so many looks is ended (30 s, as long as a lease).
SILENT_LOOKS = 300


@dataclass(slots=True)
class _Slot:
    child: subprocess.Popen[bytes] | None = None
    lived: int = 0
    pause: int = 0
    failures: int = 0
    #: the reading end of the pipe into which the child writes while its interpreter moves; looks since it did
    pulse: int = -1
    silent: int = 0


@dataclass(slots=True)
class _Supervisor:
    settings: Settings
    threads: int
    slots: list[_Slot]
    metrics: Metrics | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    signals: int = 0
    status: int = 0

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # by nohup
                signal.signal(number, self._on_signal)
        while not self.stop.is_set():
            for slot in self.slots:
                self._look_at(slot)
            self.stop.wait(_LOOK_S)
        self._signal_all(signal.SIGTERM)
        for slot in self.slots:
            if slot.child is not None:
                slot.child.wait()
        return self.status

    def _look_at(self, slot: _Slot) -> None:
        if slot.child is None:
            slot.pause -= 1
            if slot.pause <= 0:
                self._start(slot)
            return
        slot.lived += 1
        status = slot.child.poll()
        if status is None:
            self._end_if_silent(slot, slot.child)
            return
        slot.child = None
        os.close(slot.pulse)
        if self.metrics is not None:
            self.metrics.process_ended()
        if status == EXIT_UNUSABLE:
            self.status = 1
            self.stop.set()
            return
        # One that a signal ended (a negative status) didn't fail by itself: it is replaced at once.
        slot.failures = slot.failures + 1 if status >= 0 and slot.lived < _SHORT_LIFE_LOOKS else 0
        slot.pause = min(_LONGEST_PAUSE_LOOKS, (1 << slot.failures) - 1)
        print(  # noqa: T201
            f"nonoka: a worker process ended with status {status}; starting another", file=sys.stderr, flush=True
        )

    def _end_if_silent(self, slot: _Slot, child: subprocess.Popen[bytes]) -> None:
        """A thread of the child can't see that none of them moves: a tool holds the interpreter."""
        with contextlib.suppress(BlockingIOError):
            if os.read(slot.pulse, 4096):
                slot.silent = 0
        slot.silent += 1
        if slot.silent >= SILENT_LOOKS:
            print(  # noqa: T201
                f"nonoka: worker process {child.pid} has not moved for {SILENT_LOOKS * _LOOK_S:g} s; a tool may "
                "be holding Python's interpreter lock. It is ended, and what it ran is settled",
                file=sys.stderr,
                flush=True,
            )
            child.kill()
            slot.silent = 0

    def _start(self, slot: _Slot) -> None:
        slot.pulse, written = os.pipe()
        os.set_blocking(slot.pulse, False)
        try:
            slot.child = self._started(written)
        finally:
            os.close(written)
        slot.lived = slot.silent = 0

    def _started(self, pulse: int) -> subprocess.Popen[bytes]:
        # -P: a directory of the project that is called "workers" must not hide this package.
        command = [sys.executable, "-P", "-m", "workers.process"]
        told = () if self.metrics is None else (self.metrics.worker_fd,)
        return subprocess.Popen(
            [
                *(*command, "--threads", str(self.threads), "--parent", str(os.getpid())),
                *("--pulse", str(pulse)),
                *(f"--tell={fd}" for fd in told),
            ],
            env=os.environ | _as_environment(self.settings),
            cwd=self.settings.cwd,
            stdin=subprocess.DEVNULL,
            process_group=0,
            pass_fds=(pulse, *told),
        )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1
        self.stop.set()
        if self.signals > 1:
            self._signal_all(signal.SIGTERM if self.signals == 2 else signal.SIGKILL)

    def _signal_all(self, number: signal.Signals) -> None:
        for slot in self.slots:
            if slot.child is not None and slot.child.poll() is None:
                slot.child.send_signal(number)


def supervise(settings: Settings, *, processes: int, threads: int, metrics: tuple[str, int] | None = None) -> int:
    """Run this many worker processes until SIGTERM, SIGINT or SIGHUP; returns the exit status.

    One that dies is replaced. The first signal lets them finish or hand back (8 s), the second has them
    hand back at once, the third kills them. If this process is killed, the kernel tells them to stop.

    ``metrics`` is the host and port where they are served. Raises UsageError, before any process is started,
    where they can't be.
    """
    hide_environment()
    served = None if metrics is None else _serve_metrics(settings, *metrics)
    return _Supervisor(settings, threads, [_Slot() for _ in range(processes)], served).run()


def _serve_metrics(settings: Settings, host: str, port: int) -> Metrics:
    try:
        # Only here: without --metrics its library need not be installed.
        from workers.metrics import Address, Metrics, workload_of  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"--metrics needs a library that isn't installed ({error}): install nonoka with its extra 'metrics'"
        ) from None
    made = Metrics(functools.partial(workload_of, settings))
    url = made.serve(Address(host, port))
    print(f"nonoka: metrics at {url}", file=sys.stderr, flush=True)  # noqa: T201
    return made


def _as_environment(settings: Settings) -> dict[str, str]:
    found = {"NONOKA_DB": str(settings.db), "NONOKA_LOG_LEVEL": settings.log_level}
    if settings.redis_url:
        found["NONOKA_REDIS_URL"] = settings.redis_url
    return found
