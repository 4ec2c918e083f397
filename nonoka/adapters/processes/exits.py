"""When a child of this process has ended, told to an event loop of any thread."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable


def watch_exit(pid: int, on_exit: Callable[[], object]) -> Callable[[], None]:
    """``on_exit`` is called in the running loop once the child has ended; it is left to be reaped.

    Returns what stops the watch; call it once, in the same loop. asyncio's own child watchers reap, which
    frees the group's number before what is left of the group is ended.
    """
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # no pidfd in this kernel (before 5.3), or under this seccomp filter
        return _watch_in_thread(pid, on_exit, loop)

    def ended() -> None:
        loop.remove_reader(handle)
        on_exit()

    def stop() -> None:
        loop.remove_reader(handle)
        os.close(handle)

    loop.add_reader(handle, ended)
    return stop


def _watch_in_thread(
    pid: int, on_exit: Callable[[], object], loop: asyncio.AbstractEventLoop
) -> Callable[[], None]:
    def wait() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(on_exit)

    # A daemon, or a command that outlives its loop would keep this process from ending.
    thread = threading.Thread(target=wait, name=f"nonoka-exit-{pid}", daemon=True)
    thread.start()
    return lambda: None
