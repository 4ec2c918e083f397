"""How long from a worker's SIGKILL to its task's new claim by another.

    python benchmarks/recovery.py [kills] [--redis]

Two worker processes with default settings, one session of long tool calls; the one that runs the call is killed.
Prints the median and the worst, in ms, and how long a worker needs to begin a session that was enqueued while it
idles.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.figure import Figure
from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.engine.accept import SessionRequest, create_session
from nonoka.engine.follow import follow
from nonoka.records.event import Event, EventType
from nonoka.records.task import TaskStatus
from tests.support.redis_server import RedisServer

SUPERVISE = (
    "import os, sys; from pathlib import Path; from nonoka.settings import load_settings;"
    "from workers.supervisor import supervise;"
    "sys.exit(supervise(load_settings(Path.cwd(), os.environ), processes=2, threads=4))"
)


async def figures(kills: int = 10, *, redis: bool = False) -> AsyncIterator[Figure]:
    """What this measures."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        home, environ = Path(name), dict(os.environ)
        if redis:
            environ["NONOKA_REDIS_URL"] = stack.enter_context(RedisServer(home / "redis")).url
        script = home / "script.yaml"
        calls = "- tool_calls: [{name: run_command, args: {command: sleep 60}}]\n"
        script.write_text(calls)
        (home / "quick.yaml").write_text("- text: done\n")
        store = await SqliteStore.open(home / ".nonoka/sessions.db", SystemClock())
        command = [sys.executable, "-P", "-c", SUPERVISE]
        workers = subprocess.Popen(command, cwd=home, env=environ, stderr=subprocess.DEVNULL)
        try:
            await until_two_workers(store)
            begins = [await begin_ms(store, home) for _ in range(10)]
            recoveries = [await recovery_ms(store, home) for _ in range(kills)]
        finally:
            workers.send_signal(signal.SIGTERM)
            workers.send_signal(signal.SIGTERM)
            workers.wait()
            await store.close()
    where = "redis" if redis else "in-process"
    told = f"median {statistics.median(begins):.0f} ms, worst {max(begins):.0f} ms"
    yield Figure(f"{where}: enqueued to begun, idle worker in another process (a hop)", told)
    told = f"median {statistics.median(recoveries):.0f} ms, worst {max(recoveries):.0f} ms"
    yield Figure(f"{where}: SIGKILL to the next claim, {kills} kills", told)


async def until_two_workers(store: SqliteStore) -> None:
    while len(await store.workers()) < 2:
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)


async def begin_ms(store: SqliteStore, home: Path) -> float:
    session_id, began = await created(store, home, "quick.yaml"), time.time_ns() / 1e6
    async for event in follow(store, SystemClock(), session_id):
        if event.type is EventType.TURN_STARTED:
            return event.at - began
    raise AssertionError("it never began")


async def recovery_ms(store: SqliteStore, home: Path) -> float:
    session_id = await created(store, home, "script.yaml")
    async with events(store, session_id) as timeline:
        await next_of(timeline, EventType.CALL_STARTED)
        await asyncio.sleep(0.3)
        [task] = [t for t in (await store.standing(session_id)).live_tasks if t.status is TaskStatus.RUNNING]
        [pid] = [worker.pid for worker in await store.workers() if worker.worker_id == task.lease_owner]
        os.kill(pid, signal.SIGKILL)
        killed = time.time_ns() / 1e6
        claimed = await next_of(timeline, EventType.TURN_STARTED)
    from nonoka.engine.accept import send_signal
    from nonoka.records.signal import SignalKind

    await send_signal(store, session_id, SignalKind.CANCEL)
    async for _ in follow(store, SystemClock(), session_id, after_seq=claimed.seq):
        pass
    while len(await store.workers()) < 2:
        await asyncio.sleep(0.05)
    return claimed.at - killed


@asynccontextmanager
async def events(store: SqliteStore, session_id: str) -> AsyncIterator[AsyncIterator[Event]]:
    timeline = follow(store, SystemClock(), session_id)
    yield timeline


async def next_of(timeline: AsyncIterator[Event], wanted: EventType) -> Event:
    async for event in timeline:
        if event.type is wanted:
            return event
    raise AssertionError(f"no {wanted}")


async def created(store: SqliteStore, home: Path, script: str) -> str:
    request = SessionRequest(prompt="go", agent="default", model=f"script:{home / script}", working_dir=home)
    return (await create_session(store, SystemClock(), request))[0]


async def main(options: argparse.Namespace) -> None:
    async for figure in figures(options.kills, redis=options.redis):
        print(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int, nargs="?", default=15)
    parser.add_argument("--redis", action="store_true")
    asyncio.run(main(parser.parse_args()))
