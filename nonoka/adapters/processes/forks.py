"""File descriptors that a forked child must not keep: worker locks and the pipes of held commands.

Close-on-exec covers what is started; this covers what is forked (multiprocessing), which would hold a
dead worker's lock, or keep a held command waiting.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_fds: set[int] = set()
# Held over each fork, so that no fork falls between opening a descriptor and writing it down here.
_lock = threading.Lock()


@contextmanager
def private_descriptors() -> Iterator[set[int]]:
    """The set of descriptors that are closed in forked children, to be changed while no fork happens.

    Open and add inside; whatever else happens there delays every fork.
    """
    with _lock:
        yield _fds


def close_private(fd: int) -> None:
    """The descriptor is closed. In a forked child, where it was closed already, nothing happens."""
    with private_descriptors() as fds:
        if fd in fds:
            fds.remove(fd)
            os.close(fd)


def _close_in_child() -> None:
    for fd in _fds:
        os.close(fd)
    _fds.clear()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_close_in_child)
