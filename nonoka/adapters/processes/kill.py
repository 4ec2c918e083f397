"""A signal to one process and to no other that got its pid later."""

from __future__ import annotations

import os
import signal

from nonoka.adapters.processes import procfs


def send_signal(pid: int, started: int, number: signal.Signals) -> bool:
    """The process of this pid and start time has been sent the signal; False if it had ended already.

    PermissionError if it belongs to another user. Where the kernel has no pidfd (before 5.3, or under an
    old seccomp filter) the pid could be reused between the check and the signal.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:
        return _send_unpinned(pid, started, number)
    try:
        # Checked after opening: if the pid has this start time now, it had it when the handle was made.
        if not _is(pid, started):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def _send_unpinned(pid: int, started: int, number: signal.Signals) -> bool:
    if not _is(pid, started):
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _is(pid: int, started: int) -> bool:
    found = procfs.process(pid)
    return found is not None and found.living and found.started == started
