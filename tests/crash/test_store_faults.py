"""Worker processes whose store is locked, full, or taken away while they work."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.decisions.conversation_rules import first_fault
from nonoka.records.event import EventType
from tests.support import crash_agent
from tests.support.crash_agent import GATE
from tests.support.project import Project, children
from tests.support.sessions import a_worker, answer, answering, asked, new_session, start, take

HELD = [
    {"tool_calls": [{"name": "hold", "args": {}}, {"name": "pay", "args": {"amount": 5}}]},
    {"text": "done"},
]
DANGLING = 200
#: How long the file is locked; the design's number.
LOCKED_S = 2.0


@contextmanager
def no_room_beyond(pid: int, size: int) -> Iterator[None]:
    """That process can't make any file larger inside the block: to it, the disk is full."""
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


def has_begun_to_hold(project: Project) -> bool:
    return bool(project.oracle.ran())


async def test_a_full_disk_lets_no_effect_run_and_is_used_again_by_the_same_process(project: Project) -> None:
    """The result in hand is kept until there is room; the call after it begins only then."""
    session_id = await project.create(HELD)
    wal = project.db.with_name(project.db.name + "-wal")
    with project.supervisor(processes=1) as supervisor:
        await project.until(lambda: has_begun_to_hold(project), "the first call runs")
        [child] = children(supervisor.pid)
        await project.until(lambda: wal.stat().st_size > 48_000, "a log of some size")
        with no_room_beyond(child, 48_000):
            (project.directory / GATE).touch()
            await project.until(lambda: "store_full" in project.log.read_text(), "the worker says so")
            assert [one.tool_call_id for one in project.oracle.ran()] == ["call_1_0"]
        await project.all_completed()
        assert children(supervisor.pid) == [child]
    assert [one.tool_call_id for one in project.oracle.ran()] == ["call_1_0", "call_1_1"]
    detail = await project.detail(session_id)
    assert first_fault(detail.state.memory_entries) is None


@pytest.mark.parametrize("removed", ["everything", "-wal and -shm"])
async def test_what_git_clean_takes_away_under_a_worker_is_back_and_goes_on(
    project: Project, removed: str
) -> None:
    """Written back by the one that notices, taken up by the one that follows it."""
    sessions = [await project.create(HELD), await project.create([{"text": "done"}], name="quick")]
    with project.supervisor(processes=2):
        # Both: one that begins after the removal would make a new store, which is never written over.
        await project.until(lambda: project.log.read_text().count("worker_started") == 2, "two workers")
        await project.until(lambda: has_begun_to_hold(project), "the first call runs")
        if removed == "everything":
            shutil.rmtree(project.db.parent)
        else:
            for suffix in ("-wal", "-shm"):
                project.db.with_name(project.db.name + suffix).unlink()
        await project.until(lambda: "what it held is written to" in project.log.read_text(), "a worker says so")
        (project.directory / GATE).touch()
        await project.all_completed()
    for session_id in sessions:
        detail = await project.detail(session_id)
        assert first_fault(detail.state.memory_entries) is None
        assert detail.events[0].type is EventType.SESSION_CREATED


async def test_all_of_many_lost_claims_are_recovered_though_the_store_is_locked_meanwhile(
    project: Project,
) -> None:
    """Wholly while the workers start, and for writers in the middle of their passes."""
    await left_dangling(project)
    with closing(sqlite3.connect(project.db, isolation_level=None)) as locker:
        locker.execute("PRAGMA locking_mode = EXCLUSIVE")
        locker.execute("BEGIN IMMEDIATE")
        locker.execute("UPDATE meta SET value = value")
        with project.supervisor(processes=2):
            await asyncio.sleep(LOCKED_S)
            locker.execute("ROLLBACK")
            locker.close()
            await project.until(lambda: "completed" in project.statuses(), "the first is completed")
            with closing(sqlite3.connect(project.db, isolation_level=None, timeout=30)) as writer:
                writer.execute("BEGIN IMMEDIATE")
                await asyncio.sleep(LOCKED_S)
                writer.execute("ROLLBACK")
            await project.all_completed()
    assert len(project.statuses()) == DANGLING
    with closing(sqlite3.connect(project.db)) as db:
        doubled = (
            "SELECT session_id FROM memory_entries WHERE role = 'tool' GROUP BY session_id HAVING COUNT(*) > 1"
        )
        assert db.execute(doubled).fetchall() == []


async def left_dangling(project: Project) -> None:
    """So many sessions are in the middle of a call, of a worker that died before the last boot."""
    clock = SystemClock()
    script = crash_agent.write_script(
        project.directory / "dangling.yaml",
        [{"tool_calls": [{"name": "look", "args": {"place": "hall"}}]}, {"text": "done"}],
    )
    store = await SqliteStore.open(project.db, clock)
    await store.register_worker(a_worker("dead", clock))
    for _ in range(DANGLING):
        new = new_session(clock, agent=f"{crash_agent.__file__}:agent")
        new = new.model_copy(update={"index": new.index.model_copy(update={"model": script})})
        await store.create_session(new)
        taken = await take(store, new.index.session_id, "dead")
        await store.commit(taken.claim, answering(answer("", asked(place="hall")), {0: start()}))
    await store.close()


async def test_workers_of_a_damaged_store_stop_for_good_and_say_what_helps(project: Project) -> None:
    """Another process would fare no better: nothing is started over and over."""
    await project.create([{"text": "done"}])
    with closing(sqlite3.connect(project.db, isolation_level=None)) as db:
        [(root,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tasks'")
        [(page,)] = db.execute("PRAGMA page_size")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    fill_with_garbage(project.db, (root - 1) * page, page)
    with project.supervisor(processes=2) as supervisor:
        assert await asyncio.to_thread(supervisor.wait, 60) == 1
    assert "SQLITE_CORRUPT" in project.log.read_text()
    assert "nonoka doctor --check-store" in project.log.read_text()


def fill_with_garbage(file: Path, offset: int, size: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(b"\xa5" * size)
