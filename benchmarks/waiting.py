"""Many sessions that wait for a slow model at once: ``python benchmarks/waiting.py [sessions]``.

Two processes with enough threads that each session has one (a session that waits for its model occupies one).
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.figure import Figure
from benchmarks.scratch import Scratch, scratch

_PROCESSES = 2
_TURNS = 10
#: The turns that are counted as warm: not the first, in which sessions begin one after another, and not the last.
_WARM = (3, _TURNS - 1)


async def figures(sessions: int = 1000) -> AsyncIterator[Figure]:
    """What this measures."""
    threads = -(-sessions // _PROCESSES)
    memory = 0.0
    async with scratch() as here:
        script = here.script(turns=_TURNS, think_s=1)
        with here.workers(processes=_PROCESSES, threads=threads) as supervisor:
            await here.until_workers(_PROCESSES)
            for _ in range(sessions // 100):
                await asyncio.gather(*(here.enqueue(script) for _ in range(100)))
            while set(await here.store.count_sessions()) != {"completed"}:
                memory = max(memory, sum(map(_memory_mb, _children(supervisor.pid))))
                await asyncio.sleep(0.2)
        rate = _warm_rate(here)
    setting = f"{sessions} sessions on a model that takes 1 s, {_PROCESSES} processes of {threads} threads"
    yield Figure(f"turns a second once warm, {setting}", f"{rate:.0f}", "900")
    yield Figure(f"memory of the workers together, {setting}", f"{memory:.0f} MB", "under 500 MB")


def _warm_rate(here: Scratch) -> float:
    statement = """SELECT at FROM events WHERE type = 'turn_finished'
        AND json_extract(data_json, '$.turn') BETWEEN ? AND ? ORDER BY at"""
    with closing(sqlite3.connect(here.store.path)) as db:
        ends = [row[0] for row in db.execute(statement, _WARM)]
    tenth = len(ends) // 10  # the first and the last of them are few at a time
    return (len(ends) - 2 * tenth) * 1000 / (ends[-tenth] - ends[tenth])


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


async def main() -> None:
    async for figure in figures(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(figure)


if __name__ == "__main__":
    asyncio.run(main())
