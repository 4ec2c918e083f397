"""How long a commit waits while others write all the time: ``python -m benchmarks.contention [seconds]``.

Eight processes on one store, four of them writing as fast as they can, four each 50 ms. Prints each one's commits
and its longest wait; the design wants the worst under 500 ms and nobody starved.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from tests.support.writing_crowd import crowd


async def made(file: Path) -> None:
    store = await SqliteStore.open(file, SystemClock())
    await store.close()


def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "sessions.db"
        asyncio.run(made(file))
        with crowd(file, [0.0] * 4 + [0.05] * 4) as writers:
            time.sleep(seconds)
    for writer in writers:
        kind = "all the time" if writer.pause_s == 0 else "each 50 ms"
        print(f"writes {kind:<12}  {writer.commits:>7} commits, longest wait {writer.longest_ms} ms")
    print(f"worst wait {max(writer.longest_ms for writer in writers)} ms")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20)
