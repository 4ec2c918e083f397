"""How long a session waits between two turns, with workers on Redis and without; and what an idle worker costs.

    python benchmarks/redis_hop.py [--sessions 4] [--turns 10] [--think 1] [--processes 1] [--in-process]

A hop is from the commit that ends a turn to the one that claims the next, by the store's own events. With
``--think 0`` it is a chain of turns that do nothing, and the figure to look at is turns a second. Beside it runs
plain Dramatiq on the same server: as many chains of an actor that only sends the next message.
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
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from nonoka.records.event import EventType
from tests.support.project import Project, children
from tests.support.redis_server import RedisServer

_IDLE_S = 10
_PLAIN = """
import sys, threading
import dramatiq
from dramatiq.brokers.redis import RedisBroker
broker = RedisBroker(url=sys.argv[1], namespace="plain")
dramatiq.set_broker(broker)

@dramatiq.actor
def hop(left):
    if left:
        hop.send(left - 1)
    else:
        broker.client.incr("plain-done")

if __name__ == "__main__":
    dramatiq.Worker(broker, worker_threads=16).start()
    for _ in range(int(sys.argv[2])):
        hop.send(int(sys.argv[3]))
    threading.Event().wait()
"""


async def measure(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        environ = {"NONOKA_LOG_LEVEL": "warning"}
        if not options.in_process:
            server = stack.enter_context(RedisServer(directory / "redis"))
            environ["NONOKA_REDIS_URL"] = server.url
        project = Project(directory / "project", environ=environ)
        async with project.store():
            pass
        supervisor = stack.enter_context(project.supervisor(processes=options.processes, threads=16))
        await project.until(lambda: len(children(supervisor.pid)) == options.processes, "the workers")
        await asyncio.sleep(3)
        if options.idle:
            pids = children(supervisor.pid)
            before = [_cpu_s(pid) for pid in pids]
            await asyncio.sleep(_IDLE_S)
            used = [_cpu_s(pid) - b for pid, b in zip(pids, before, strict=True)]
            print(f"idle worker: {100 * max(used) / _IDLE_S:.1f} % of a core")
        looks = [{"name": "look", "args": {"place": f"room {n}"}} for n in range(options.turns)]
        turns: list[dict[str, object]] = [{"delay_s": options.think, "tool_calls": [look]} for look in looks]
        turns.append({"text": "done"})
        begun = time.perf_counter()
        sessions = [await project.create(turns, name=f"script-{n}") for n in range(options.sessions)]
        await project.all_completed(600)
        took = time.perf_counter() - begun
        hops = [hop for session in sessions for hop in await _hops(project, session)]
        if not options.in_process and not options.think:
            supervisor.send_signal(signal.SIGTERM)
            supervisor.wait()
            print(f"plain Dramatiq: {await _plain(options, server):.0f} messages/s")
    hops.sort()
    where = "in-process" if options.in_process else "redis"
    print(
        f"{where}, {options.processes} process(es), {options.think:g} s of thinking: {len(hops)} hops, "
        f"p50 {statistics.median(hops):.0f} ms, p99 {hops[int(len(hops) * 0.99)]} ms, "
        f"{(options.turns + 1) * options.sessions / took:.0f} turns/s"
    )


async def _plain(options: argparse.Namespace, server: RedisServer) -> float:
    """Messages a second of as many chains, by as many processes."""
    chains = [options.sessions // options.processes] * options.processes
    with ExitStack() as stack:
        for count in chains:
            command = [sys.executable, "-c", _PLAIN, server.url, str(count), str(options.turns)]
            stack.callback(stack.enter_context(subprocess.Popen(command)).kill)
        while not server.client.exists("plain:__heartbeats__"):
            await asyncio.sleep(0.001)
        begun = time.perf_counter()
        while int(server.client.get("plain-done") or 0) < sum(chains):
            await asyncio.sleep(0.005)
        return sum(chains) * (options.turns + 1) / (time.perf_counter() - begun)


async def _hops(project: Project, session_id: str) -> list[int]:
    ended, hops = None, []
    for event in (await project.detail(session_id)).events:
        if event.type is EventType.TURN_FINISHED:
            ended = event.at
        elif event.type is EventType.TURN_STARTED and ended is not None:
            hops.append(event.at - ended)
    return hops


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--think", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--in-process", action="store_true", help="without Redis")
    parser.add_argument("--idle", action="store_true", help="first measure an idle worker, for 10 s")
    asyncio.run(measure(parser.parse_args()))
