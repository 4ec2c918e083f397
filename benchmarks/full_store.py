"""What a sweep, a claim and a list cost as the store fills up: ``python benchmarks/full_store.py [sessions]``.

The sessions stored are finished ones; a claim takes one that has just been enqueued, among them. Each figure is
the median of many, and the stores take turns, so that what else the machine does hits all alike.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.figure import Figure
from benchmarks.scratch import Scratch, scratch
from nonoka.app import as_worker, open_ports
from nonoka.decisions import turn
from nonoka.engine.deciding import deciding
from nonoka.settings import load_settings

_SIZES = (100, 10_000, 100_000)
_ROUNDS = 60
_TABLES = {
    "checkpoints": "session_id, status, version, state_json",
    "cli_sessions": "session_id, kind, title, working_dir, agent, model, created_at, last_active, metadata",
    "memory_entries": "session_id, position, role, tokens, metadata, content",
    "events": "session_id, seq, at, type, data_json",
    "tasks": "session_id, task_id, kind, key, status, not_before, attempt, fence",
}

Measure = Callable[[], Awaitable[object]]


async def figures(largest: int = _SIZES[-1]) -> AsyncIterator[Figure]:
    """What this measures."""
    sizes = [size for size in _SIZES if size <= largest]
    async with AsyncExitStack() as stack:
        measures = [await _measures(stack, size) for size in sizes]
        for name, wanted in (("sweep", "1.5"), ("claim", "1.5"), ("list", "")):
            took = await _interleaved([of_store[name] for of_store in measures])
            told = ", ".join(f"{size:,}: {ms:.2f} ms" for size, ms in zip(sizes, took, strict=True))
            yield Figure(f"a {name}, by sessions stored", told, "list under 300 ms" if name == "list" else "")
            if wanted:
                what = f"a {name} at {sizes[-1]:,} sessions against {sizes[0]}"
                yield Figure(what, f"{took[-1] / took[0]:.2f} times", f"within {wanted}")


async def _interleaved(measures: list[Measure]) -> list[float]:
    took: list[list[float]] = [[] for _ in measures]
    for _ in range(_ROUNDS):
        for times, measure in zip(took, measures, strict=True):
            begun = time.perf_counter()
            await measure()
            times.append((time.perf_counter() - begun) * 1000)
    return [statistics.median(times) for times in took]


async def _measures(stack: AsyncExitStack, size: int) -> dict[str, Measure]:
    here = await stack.enter_async_context(scratch())
    script = here.script(turns=0)
    await _fill(here, script, size)
    settings = load_settings(here.directory, {}, {"db": str(here.store.path)})
    ports = await stack.enter_async_context(open_ports(settings))
    parts = await stack.enter_async_context(as_worker(ports, "sweep"))
    waiting = [await here.enqueue(script) for _ in range(_ROUNDS)]
    assert len(waiting) == _ROUNDS

    async def claim() -> None:
        assert await here.store.claim("nobody", deciding(turn.begin)) is not None

    return {
        "sweep": parts.sweeper.sweep,
        "claim": claim,
        "list": lambda: here.store.list_sessions(limit=50),
    }


async def _fill(here: Scratch, script: Path, size: int) -> None:
    model = await here.enqueue(script)
    taken = await here.store.claim("nobody", deciding(turn.begin))
    assert taken is not None
    await here.store.commit(taken.claim, deciding(turn.fail_run, "bench", "stored and finished"))
    with closing(sqlite3.connect(here.store.path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            "CREATE TEMP TABLE ids AS SELECT value AS id FROM json_each(?)", (json.dumps(_ids(here, size)),)
        )
        for table, columns in _TABLES.items():
            anew = columns.replace("session_id", "ids.id", 1).replace("task_id", "ids.id || '/turn:1'")
            db.execute(
                f"INSERT INTO {table} ({columns}) SELECT {anew} FROM {table}, ids WHERE session_id = ?", (model,)
            )
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _ids(here: Scratch, size: int) -> list[str]:
    return [here.clock.new_id() for _ in range(size)]


async def main() -> None:
    async for figure in figures(int(sys.argv[1]) if len(sys.argv) > 1 else _SIZES[-1]):
        print(figure)


if __name__ == "__main__":
    asyncio.run(main())
