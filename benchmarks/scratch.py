"""A project in a temporary directory with real worker processes over it: what the benchmarks measure on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.engine.accept import SessionRequest, create_session
from nonoka.records.runtime import RuntimeLimits

_AGENT = '''
from nonoka import Agent, tool

@tool(effect="read_only")
async def look() -> str:
    """Look."""
    return "nothing new"

agent = Agent("bench", "Look.", tools=[look])
'''
_SUPERVISE = (
    "import os, sys; from pathlib import Path; from nonoka.settings import load_settings;"
    "from workers.supervisor import supervise;"
    "sys.exit(supervise(load_settings(Path.cwd(), os.environ), processes={processes}, threads={threads}))"
)
_LIMITS = RuntimeLimits(max_model_turns=None, max_tool_calls=None)


class Scratch:
    """A directory, an agent with one tool that does nothing, and the store, opened by this process."""

    def __init__(self, directory: Path, store: SqliteStore) -> None:
        self.directory = directory
        self.store = store
        self.clock = SystemClock()
        (directory / "bench_agent.py").write_text(_AGENT)

    def script(self, *, turns: int, characters: int = 0, think_s: float = 0) -> Path:
        """A model that asks for the tool so many times, each time with so much text, and then is done."""
        path = self.directory / f"turns-{turns}-{characters}-{think_s}.yaml"
        usage = "usage: {input_tokens: 1, output_tokens: 1}"
        call = f"tool_calls: [{{name: look, args: {{}}}}], text: '{'x' * characters}', delay_s: {think_s}"
        path.write_text(f"- {{{call}, {usage}}}\n" * turns + f"- {{text: done, {usage}}}\n")
        return path

    async def enqueue(self, script: Path) -> str:
        """A session that waits for a worker; returns its id."""
        request = SessionRequest(
            prompt="go",
            agent=f"{self.directory / 'bench_agent.py'}:agent",
            model=f"script:{script}",
            working_dir=self.directory,
            limits=_LIMITS,
        )
        return (await create_session(self.store, self.clock, request))[0]

    @contextmanager
    def workers(
        self, *, processes: int, threads: int = 16, environ: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """The supervisor keeps so many workers until the end of the block."""
        command = [sys.executable, "-P", "-c", _SUPERVISE.format(processes=processes, threads=threads)]
        env = os.environ | {"NONOKA_DB": str(self.store.path), "NONOKA_LOG_LEVEL": "warning"} | dict(environ or {})
        popen = subprocess.Popen(command, cwd=self.directory, env=env, stdin=subprocess.DEVNULL)
        try:
            yield popen
        finally:
            popen.send_signal(signal.SIGTERM)
            popen.send_signal(signal.SIGTERM)
            popen.wait(60)

    async def until_workers(self, number: int) -> None:
        """So many workers are there, and have done what a worker does at its start."""
        while len(await self.store.workers()) < number:
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)

    async def until_completed(self) -> None:
        """Every session has come to its end."""
        while set(await self.store.count_sessions()) != {"completed"}:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def scratch() -> AsyncIterator[Scratch]:
    """A project that is gone at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="nonoka-bench-") as name:
        directory = Path(name)
        store = await SqliteStore.open(directory / ".nonoka/sessions.db", SystemClock())
        try:
            yield Scratch(directory, store)
        finally:
            await store.close()
