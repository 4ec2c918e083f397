"""When to try again what may pass."""

from __future__ import annotations

#: Failures of one task that are waited out before the run fails (design section 4).
MAX_RETRIES = 8
#: Claims of one task that may be lost to a dead worker before it is given up.
MAX_DEATHS = 5
#: From this many deaths on the task runs alone in its process, so that it takes nobody with it.
SOLITARY_DEATHS = 2

FIRST_BACKOFF_MS = 500
LONGEST_BACKOFF_MS = 120_000
#: A server that asks for a longer wait is mistaken; beyond some such number there is no date.
LONGEST_ASKED_MS = 30 * 24 * 3_600_000


def backoff_ms(retries: int, lot: float, retry_after_ms: int | None = None) -> int:
    """How long to wait after that many earlier failures: exponential, jittered by ``lot`` from [0, 1).

    Never shorter than what the server asked for (30 days count at most), and then at most a tenth longer.
    """
    if retry_after_ms is not None:
        asked = min(retry_after_ms, LONGEST_ASKED_MS)
        return asked + round(asked * 0.1 * lot)
    longest = min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS << min(retries, 20))
    return round(longest * (0.5 + 0.5 * lot))


def resend_after_ms(sends: int) -> int:
    """How long after the ``sends``-th send (from 1) an unclaimed task is sent again: 0.5 s, doubling."""
    return min(60_000, 500 << min(max(sends - 1, 0), 10))
