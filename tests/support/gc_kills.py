"""Collections in a process of their own, which is killed at random moments; and what must be whole after that.

Run by hand for many: ``python -m tests.support.gc_kills 100``.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.adapters.sqlite.store_check.check import check
from nonoka.adapters.workspace import GitSnapshots, GitWorktrees
from nonoka.adapters.workspace.collecting import LOOSE_OBJECTS
from nonoka.app import open_ports
from nonoka.engine.gc import collect
from nonoka.ports.clock import Clock
from nonoka.records.commit import Changes
from nonoka.records.retention import CollectionReport, Retention
from nonoka.records.workspace import SnapshotTaken
from nonoka.settings import Settings
from nonoka.testing.manual_clock import ManualClock
from tests.support.sessions import answer, answering, new_session, take, writing
from tests.support.trees import Tree, git, tree_of

WANTED = Retention(keep_days=1)
#: Of each round: sessions that may go.
OLD = 6


def settings(root: Path) -> Settings:
    return Settings(cwd=root, db=root / "home" / "sessions.db")


async def collected(root: Path) -> CollectionReport:
    """What one collection did, over this machine's real things."""
    async with open_ports(settings(root)) as ports:
        print("begun", flush=True)
        return await collect(ports, WANTED)


def killed_after(delay_s: float, root: Path) -> bool:
    """Start the child, kill it that long after it began; whether it had not ended."""
    command = [sys.executable, "-m", "tests.support.gc_kills", "child", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(delay_s)
        process.kill()
        return "ended" not in process.stdout.read()


class Kept:
    """A session that stays, and how its workspace was at its snapshot."""

    def __init__(self, session_id: str, snapshot_id: str, tree: Tree) -> None:
        self.session_id, self.snapshot_id, self.tree = session_id, snapshot_id, tree


class Campaign:
    """A project in which old sessions end all the time, and collections are killed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.lot = root, random.Random(seed)
        self.home, self.workspace = root / "home", root / "workspace"
        self.workspace.mkdir(parents=True)
        git(self.workspace, "init", "--quiet")
        git(self.workspace, "commit", "--quiet", "--allow-empty", "--message", "first")
        self.artifacts = ArtifactFiles(self.home / "artifacts")
        self.worktrees = GitWorktrees()
        self.long_ago = ManualClock()
        self.kept: list[Kept] = []
        self.branches: list[str] = []
        self.usual_s = 0.0

    async def begin(self) -> None:
        """How long a collection usually takes is known."""
        await self.grow()
        begun = time.perf_counter()
        report = await collected(self.root)
        self.usual_s = time.perf_counter() - begun
        assert len(report.sessions) == OLD, report
        assert report.errors == ()
        assert await self.whole() == []

    async def round(self) -> bool:
        """A kill in a collection; whether it came before the end."""
        await self.grow()
        hit = await asyncio.to_thread(killed_after, self.lot.uniform(0, 1.2 * self.usual_s), self.root)
        assert await self.whole() == []
        return hit

    async def grow(self) -> None:
        """Sessions that may go, with all that they have; and one that stays."""
        for clock, sessions in ((self.long_ago, OLD), (SystemClock(), 1)):
            store = await SqliteStore.open(self.home / "sessions.db", clock)
            for number in range(sessions):
                await self._session(store, clock, worktree=number == 0 and sessions == OLD)
            await store.close()

    async def whole(self) -> list[str]:
        """What is wrong with what must be kept."""
        rules = await check(self.home / "sessions.db", now_ms=0)
        wrong = [f"{rule.rule}: {rule.broken}" for rule in rules if rule.broken]
        git(self.workspace, "fsck", "--full", "--strict")
        for private in (self.home / "snapshots").glob("*/git"):
            git(self.workspace, "--git-dir", str(private), "fsck", "--full", "--connectivity-only")
        there = git(self.workspace, "branch", "--format=%(refname:short)").split()
        wrong += [f"no branch {branch}" for branch in self.branches if branch not in there]
        for one in self.kept:
            wrong += await self._wrong_with(one)
        return wrong

    async def nothing_left(self) -> None:
        """After a collection that nobody kills there is what is kept, and nothing else."""
        report = await collected(self.root)
        assert (report.left, report.errors) == ((), ())
        assert set(self.artifacts.kept()) == {one.session_id for one in self.kept}
        refs = git(self.workspace, "--git-dir", str(self._private()), "for-each-ref", "--format=%(objectname)")
        assert set(refs.split()) == {one.snapshot_id for one in self.kept}
        assert not (self.root / "trees").exists()
        store = await SqliteStore.open(self.home / "sessions.db", SystemClock())
        assert await store.leftovers() == []
        assert await store.free_bytes() == 0
        await store.close()

    async def _session(self, store: SqliteStore, clock: Clock, *, worktree: bool) -> None:
        new = new_session(clock, session_id=SystemClock().new_id())
        session_id = new.index.session_id
        if worktree:
            new = new.model_copy(update={"index": new.index.model_copy(update=await self._worktree(session_id))})
        for _ in range(LOOSE_OBJECTS // OLD // 10):
            (self.workspace / f"f{self.lot.randint(0, 99)}").write_bytes(self.lot.randbytes(3_000))
        snapshots = GitSnapshots(self.home, clock)
        snapshot_id = (await snapshots.take(self.workspace, session_id, "turn-1")).snapshot_id
        taken = SnapshotTaken(
            snapshot_id=snapshot_id,
            session_id=session_id,
            workspace=str(self.workspace),
            turn=1,
            step_id="turn:1/call:0",
            why="before_call",
            taken_at=clock.now_ms(),
        )
        self.artifacts.keep(session_id, "result", "x" * 5_000)
        await store.create_session(new)
        claim = (await take(store, session_id)).claim
        await store.commit(claim, writing(Changes(snapshots=(taken,))))
        await store.commit(claim, answering(answer("y" * 5_000)))
        if clock is not self.long_ago:
            self.kept.append(Kept(session_id, snapshot_id, tree_of(self.workspace)))

    async def _worktree(self, session_id: str) -> dict[str, object]:
        place, branch = self.root / "trees" / session_id, f"nonoka/{session_id}"
        await self.worktrees.make(self.workspace, place, branch)
        (place / "work").write_text(session_id)
        git(place, "add", "work")
        git(place, "commit", "--quiet", "--message", "work")
        self.branches.append(branch)
        tree = {"repository": str(self.workspace), "branch": branch}
        return {"working_dir": str(place), "metadata": {"worktree": tree}}

    async def _wrong_with(self, one: Kept) -> list[str]:
        with tempfile.TemporaryDirectory() as place:
            target = Path(place) / "tree"
            await GitSnapshots(self.home, SystemClock()).write_out(self.workspace, one.snapshot_id, target)
            wrong = [] if tree_of(target) == one.tree else [f"{one.session_id} has another snapshot"]
        if self.artifacts.read(one.session_id, f"{one.session_id}/result", 0, 1) is None:
            wrong.append(f"{one.session_id} has lost a result")
        return wrong

    def _private(self) -> Path:
        (found,) = (self.home / "snapshots").glob("*/git")
        return found


async def campaign(root: Path, wanted: int, seed: int) -> int:
    """Until so many kills came before the end, of at most four times as many; returns how many did."""
    running = Campaign(root, seed)
    await running.begin()
    hits = 0
    for _ in range(4 * wanted):
        hits += await running.round()
        if hits >= wanted:
            break
    await running.nothing_left()
    return hits


if __name__ == "__main__":
    if sys.argv[1] == "child":
        asyncio.run(collected(Path(sys.argv[2])))
        print("ended", flush=True)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            print(asyncio.run(campaign(Path(scratch), int(sys.argv[1]), seed=time.time_ns())))
