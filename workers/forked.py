"""What a tool forks in a worker process is no worker: it heeds signals as any other process does."""

from __future__ import annotations

import os
import signal
import threading

#: Those that a worker has handlers for.
_OURS = (signal.SIGTERM, signal.SIGINT)
_before = threading.local()


def free_forked_children() -> None:
    """From now on a forked child ends at SIGTERM, as ``multiprocessing.Pool`` wants it to."""
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_free)


def _hold() -> None:
    # Held over the fork: one that came before the child's handlers are its own would be lost.
    _before.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _before.mask)


def _free() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _release()
