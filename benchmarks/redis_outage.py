"""Does a Redis that stops answering for long stop anybody?

    python benchmarks/redis_outage.py [--seconds 30] [--freeze]

Two workers with sessions under way; Redis is paused (CLIENT PAUSE), or frozen (SIGSTOP, with what was asked in its
sockets), for so many seconds, in which as many sessions come in again, and once more after it. Prints how long the
sessions took and what the workers said; exits with 1 unless all of them complete and each call ran once. The tests
have the same with 12 s.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.project import Project, children
from tests.support.redis_server import RedisServer

_SESSIONS = 10
_CALLS = 10
_TURNS: list[dict[str, object]] = [
    *({"delay_s": 0.5, "tool_calls": [{"name": "pay", "args": {"amount": n}}]} for n in range(_CALLS)),
    {"text": "done"},
]


async def run(seconds: float, *, freeze: bool) -> int:
    with tempfile.TemporaryDirectory() as name, RedisServer(Path(name) / "redis") as server:
        project = Project(Path(name) / "project", environ={"NONOKA_REDIS_URL": server.url})
        await _create(project)
        with project.supervisor(processes=2, threads=16) as supervisor:
            await project.until(lambda: len(project.oracle.ran()) >= _SESSIONS, "work is under way")
            workers, begun = children(supervisor.pid), time.perf_counter()
            if freeze:
                server.freeze()
            else:
                server.client.client_pause(round(seconds * 1000))
            await _create(project)
            await project.all_completed(300)
            print(f"{2 * _SESSIONS} sessions were completed {time.perf_counter() - begun:.1f} s into it")
            await asyncio.sleep(max(0.0, seconds - (time.perf_counter() - begun)))
            if freeze:
                server.thaw()
            await project.until(lambda: "redis_back" in project.log.read_text(), "a worker uses it again")
            await _create(project)
            await project.all_completed(300)
            same = children(supervisor.pid) == workers
        ran = [one.idempotency_key for one in project.oracle.ran()]
        once = len(ran) == len(set(ran)) == 3 * _SESSIONS * _CALLS
    how = "frozen" if freeze else "paused"
    print(
        f"{how} for {seconds:g} s: all {3 * _SESSIONS} sessions completed, {len(ran)} calls, each once: {once}, "
        f"the same workers: {same}"
    )
    return 0 if once and same else 1


async def _create(project: Project) -> None:
    for _ in range(_SESSIONS):
        await project.create(_TURNS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--freeze", action="store_true")
    options = parser.parse_args()
    sys.exit(asyncio.run(run(options.seconds, freeze=options.freeze)))
