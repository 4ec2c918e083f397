"""Keeps what a worker's environment holds (a model's key, say) from the commands that it runs as the same user."""

from __future__ import annotations

import ctypes

#: prctl(2)
_PR_SET_DUMPABLE = 4


def hide_environment() -> None:
    """/proc/PID/environ and memory of this process are root's alone, and it dumps no core.

    What it starts is readable again once it has executed its program. A debugger of the same user can't attach.
    """
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
