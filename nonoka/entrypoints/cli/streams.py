"""Makes of this process's standard streams what commands rely on. ``main`` calls it first."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    """stdin, stdout and stderr are there, and whatever text is written comes out.

    One that was closed by whoever started us leads nowhere: else the next file opened would take its number, and
    a warning written to stderr could end up in the store.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal of another encoding, or the name of a file that is no UTF-8.
            stream.reconfigure(errors="backslashreplace")
