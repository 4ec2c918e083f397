"""Processes that write to one store as fast as they can. Used by the test of fairness and by its benchmark."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from tests.support.sessions import a_worker


async def write(file: Path, name: str, pause_s: float) -> None:
    """Renew a lease until stdin is closed; now and then a line: how many commits, longest wait in ms."""
    store = await SqliteStore.open(file, SystemClock())
    await store.register_worker(a_worker(name))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), stop.set)
    every = 100 if pause_s == 0 else 1
    commits, longest = 0, 0.0
    while not stop.is_set():
        began = time.perf_counter()
        await store.renew(name)
        longest = max(longest, time.perf_counter() - began)
        commits += 1
        if commits % every == 0:
            print(commits, round(longest * 1000), flush=True)
        await asyncio.sleep(pause_s)
    await store.close()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
