"""Durable turns a second through the queue, and sessions of one step: ``python benchmarks/throughput.py``.

Each turn is one scripted answer that asks for one read-only call, and its result. The workers are up before the
first session is enqueued; a rate is from the first turn's beginning to the last session's end.
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

_WANTED = {(1, 1): "500", (20, 2): "1000"}
_RATE = """SELECT COUNT(*) FILTER (WHERE type = 'turn_started'), MIN(at) FILTER (WHERE type = 'turn_started'),
    MAX(at) FROM events"""


async def figures() -> AsyncIterator[Figure]:
    """What this measures."""
    for sessions, turns in ((1, 1000), (20, 150)):
        for processes in (1, 2):
            rate = await turns_a_second(sessions=sessions, turns=turns, processes=processes)
            what = f"turns a second, {sessions} session(s) at a time, {processes} process(es)"
            yield Figure(what, f"{rate:.0f}", _WANTED.get((sessions, processes), ""))
    rate = await turns_a_second(sessions=1500, turns=1, processes=2)
    yield Figure("sessions of one step a second, through the queue, 2 processes", f"{rate:.0f}", "300")


async def turns_a_second(*, sessions: int, turns: int, processes: int, threads: int = 16) -> float:
    """The rate over all of them."""
    async with scratch() as here:
        script = here.script(turns=turns - 1)
        with here.workers(processes=processes, threads=threads):
            await here.until_workers(processes)
            await asyncio.gather(*(here.enqueue(script) for _ in range(sessions)))
            await here.until_completed()
        return _rate(here)


def _rate(here: Scratch) -> float:
    with closing(sqlite3.connect(here.store.path)) as db:
        turns, first, last = db.execute(_RATE).fetchone()
    return float(turns * 1000 / (last - first))


async def main() -> None:
    async for figure in figures():
        print(figure)


if __name__ == "__main__":
    asyncio.run(main())
