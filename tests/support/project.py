"""A project of its own with a store in a real file, real worker processes over it, and the oracle beside it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.clock import SystemClock
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.processes import LocalProcesses, procfs
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.agents.registry import Registry
from nonoka.engine.accept import SessionRequest, create_session
from nonoka.engine.ports import Ports
from nonoka.records.commit import SessionDetail
from tests.support import crash_agent
from tests.support.boundaries import Point
from tests.support.oracle import Oracle
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees

_ROOT = Path(__file__).parents[2]
OURS = ["-m", "tests.support.worker_module"]
PLAIN = ["-P", "-m", "workers.process", "--threads", "4"]
_SUPERVISOR = """
import os, sys
from pathlib import Path
from nonoka.settings import load_settings
from workers.supervisor import supervise
settings = load_settings(Path.cwd(), os.environ)
sys.exit(supervise(settings, processes={processes}, threads={threads}, metrics={metrics}))
"""


class Project:
    """A directory with a workspace, a store and an oracle; sessions by the crash tests' agent."""

    def __init__(self, directory: Path, *, environ: Mapping[str, str] | None = None) -> None:
        """``environ`` is what its workers have beside what all have.

        Run by hand with ``CRASH_REDIS_URL``, all tests that leave it open have their workers on that Redis.
        """
        by_hand = os.environ.get("CRASH_REDIS_URL")
        left_open = {"NONOKA_REDIS_URL": by_hand} if by_hand else {}
        self.environ = dict(left_open if environ is None else environ)
        self.directory = directory
        self.workspace = directory / "workspace"
        self.workspace.mkdir(parents=True)
        self.db = directory / "store" / "sessions.db"
        self.oracle = Oracle(directory)
        self.log = directory / "workers.log"

    @asynccontextmanager
    async def store(self) -> AsyncIterator[SqliteStore]:
        """The store, opened by this process."""
        store = await SqliteStore.open(self.db, SystemClock())
        try:
            yield store
        finally:
            await store.close()

    def ports(self, store: SqliteStore) -> Ports:
        """The real things of this process over an opened store."""
        clock, home = SystemClock(), self.db.parent
        return Ports(
            store=store,
            broker=SilentBroker(),
            clock=clock,
            models=ModelCatalog({}),
            processes=LocalProcesses(home / "workers", clock),
            artifacts=ArtifactFiles(home / "artifacts"),
            snapshots=PlayedSnapshots(),
            workspace_use=PlayedUse(),
            worktrees=PlayedWorktrees(),
            agents=Registry(),
        )

    async def create(
        self, turns: list[dict[str, object]], *, name: str = "script", agent: str | None = None
    ) -> str:
        """A session whose model says this, of the crash tests' agent or of another one; returns its id."""
        request = SessionRequest(
            prompt="see what is there, then build",
            agent=agent or f"{crash_agent.__file__}:agent",
            model=crash_agent.write_script(self.directory / f"{name}.yaml", turns),
            working_dir=self.workspace,
        )
        async with self.store() as store:
            return (await create_session(store, SystemClock(), request))[0]

    async def detail(self, session_id: str) -> SessionDetail:
        """Everything about a session."""
        async with self.store() as store:
            return await store.detail(session_id)

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """The workspace: mode and contents of each file, or where a link leads."""
        found = {}
        for path in sorted(self.workspace.rglob("*")):
            inside = path.relative_to(self.workspace)
            if ".nonoka" not in inside.parts and ".git" not in inside.parts:
                contents = os.readlink(path).encode() if path.is_symlink() else b""
                if path.is_file() and not path.is_symlink():
                    contents = path.read_bytes()
                found[str(inside)] = (path.lstat().st_mode, contents)
        return found

    def statuses(self) -> list[str]:
        """The statuses of all sessions, without a store of our own: cheap enough to ask all the time."""
        with closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=30)) as db:
            return [row[0] for row in db.execute("SELECT status FROM checkpoints ORDER BY session_id")]

    def change(self, statement: str) -> None:
        """The store is changed behind everybody's back."""
        with closing(sqlite3.connect(self.db, timeout=30)) as db, db:
            db.execute(statement)

    def left_over(self, session_id: str) -> list[int]:
        """The pids of what this session's calls started and what still lives."""
        living = [one.pid for one in procfs.processes() if one.living]
        return [pid for pid in living if procfs.carries_prefix(pid, session_id)]

    @contextmanager
    def worker(
        self,
        command: list[str],
        *,
        at: Point | None = None,
        points: Path | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A worker process (or a supervisor) works on this store; it is killed at the end if it still lives."""
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(_ROOT),
            "NONOKA_DB": str(self.db),
            "NONOKA_LOG_LEVEL": "info",
            "CRASH_ORACLE": str(self.directory),
            **self.environ,
            **({"CRASH_AT": str(at)} if at else {}),
            **({"CRASH_POINTS": str(points)} if points else {}),
            **(environ or {}),
        }
        with (
            self.log.open("ab") as log,
            subprocess.Popen(
                [sys.executable, *command],
                cwd=cwd or self.workspace,
                env=env,
                stdin=subprocess.DEVNULL,
                stderr=log,
            ) as popen,
        ):
            try:
                yield popen
            finally:
                popen.kill()

    @contextmanager
    def supervisor(
        self, *, processes: int, threads: int = 4, metrics: tuple[str, int] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """The real supervisor keeps so many workers; it is told to stop at the end, and they with it."""
        program = _SUPERVISOR.format(processes=processes, threads=threads, metrics=metrics)
        with self.worker(["-c", program]) as popen:
            try:
                yield popen
            finally:
                popen.send_signal(signal.SIGTERM)
                popen.wait(30)

    async def until(self, fact: Callable[[], bool], what: str, within_s: float = 60) -> None:
        """Return once the fact holds; fails with the end of the workers' log."""
        try:
            async with asyncio.timeout(within_s):
                while not fact():  # noqa: ASYNC110 - facts about other processes come with no event
                    await asyncio.sleep(0.02)
        except TimeoutError:
            log = self.log.read_text(errors="replace") if self.log.exists() else ""
            raise AssertionError(f"not within {within_s} s: {what}; the workers said:\n{log[-4000:]}") from None

    async def all_completed(self, within_s: float = 60) -> None:
        """Return once every session is completed."""
        await self.until(lambda: set(self.statuses()) == {"completed"}, "every session completed", within_s)


def children(pid: int) -> list[int]:
    """The living children of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return []
    found = [procfs.process(int(child)) for child in text.split()]
    return [one.pid for one in found if one is not None and one.living]
