"""Takes snapshots and goes back to them in a process of its own, which is killed at random moments.

Run by hand for many: ``python -m tests.support.snapshot_kills 50``.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.workspace import GitSnapshots
from tests.support.trees import everything_of, git, tree_of

#: Enough that a kill lands inside; large enough that the large way of syncing is taken.
FILES = 150


def child(what: str, workspace: str, home: str, name: str) -> None:
    """What the process that gets killed does: say that it begins, do it, say that it has ended."""
    snapshots = GitSnapshots(Path(home), SystemClock())
    print("begun", flush=True)
    if what == "take":
        asyncio.run(snapshots.take(Path(workspace), "killed", name))
    else:
        asyncio.run(snapshots.roll_back(Path(workspace), what, "killed", name))
    print("ended", flush=True)


def killed_after(delay_s: float, *args: str) -> bool:
    """Start the child, kill it that long after it began; whether it had not ended."""
    command = [sys.executable, "-m", "tests.support.snapshot_kills", "child", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(delay_s)
        process.kill()
        return "ended" not in process.stdout.read()


def make_workspace(root: Path) -> Path:
    """A repository with some history, files in directories, ignored ones, links."""
    workspace = root / "workspace"
    for number in range(FILES):
        file = workspace / f"d{number % 7}" / f"e{number % 3}" / f"f{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n" * 50)
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "kept.log").write_text("precious")
    (workspace / "link").symlink_to("d0")
    git(workspace, "init", "--quiet")
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "--message", "first")
    (workspace / "untracked").write_text("mine")
    return workspace


def disturb(workspace: Path, lot: random.Random) -> None:
    """What a command might do: change, remove, add, link, make executable."""
    for number in lot.sample(range(FILES), 60):
        file = workspace / f"d{number % 7}" / f"e{number % 3}" / f"f{number}"
        if number % 4 == 0:
            file.unlink(missing_ok=True)
        elif file.exists():
            file.write_text(str(lot.random()) * 20)
    made = workspace / f"made{lot.randint(0, 9)}" / "deep"
    made.mkdir(parents=True, exist_ok=True)
    (made / "new").write_text("new")
    (workspace / "link").unlink()
    (workspace / "link").write_text("no link any more")
    (workspace / "untracked").chmod(0o755)


def both_sound(workspace: Path, home: Path) -> None:
    """``git fsck`` finds nothing in the user's repository, nor in ours."""
    assert not git(workspace, "fsck", "--full", "--strict").strip()
    for private in home.glob("snapshots/*/git"):
        git(workspace, "--git-dir", str(private), "fsck", "--full", "--connectivity-only")


class Campaign:
    """One workspace that is disturbed, and whose snapshots and rollbacks are killed, again and again."""

    def __init__(self, root: Path, seed: int) -> None:
        self.lot = random.Random(seed)
        self.workspace, self.home = make_workspace(root), root / "home"
        self.snapshots = GitSnapshots(self.home, SystemClock())
        self.theirs = everything_of(self.workspace / ".git")
        self.first = self.take("first")
        self.tree = tree_of(self.workspace)
        disturb(self.workspace, self.lot)
        self.snapshot_s, _ = timed(lambda: self.take("measured"))
        self.rollback_s, _ = timed(lambda: self.go_back(self.first))

    def round(self) -> tuple[bool, bool]:
        """A kill in a snapshot, then one in a rollback; whether each came before the end."""
        disturb(self.workspace, self.lot)
        disturbed = tree_of(self.workspace)
        in_snapshot = self.killed(self.snapshot_s, "take")
        assert tree_of(self.workspace) == disturbed
        again = self.take("killed")
        in_rollback = self.killed(self.rollback_s, self.first)
        self.go_back(self.first)
        assert tree_of(self.workspace) == self.tree
        self.go_back(again)
        assert tree_of(self.workspace) == disturbed
        self.go_back(self.first)
        assert everything_of(self.workspace / ".git") == self.theirs
        return in_snapshot, in_rollback

    def killed(self, usual_s: float, what: str) -> bool:
        hit = killed_after(self.lot.uniform(0, usual_s), what, str(self.workspace), str(self.home), "killed")
        both_sound(self.workspace, self.home)
        return hit

    def take(self, name: str) -> str:
        return asyncio.run(self.snapshots.take(self.workspace, "session", name)).snapshot_id

    def go_back(self, snapshot_id: str) -> None:
        asyncio.run(self.snapshots.roll_back(self.workspace, snapshot_id, "session", "before"))


def campaign(root: Path, wanted: int, seed: int) -> tuple[int, int]:
    """Until so many kills of each kind came before the end; at most four times as many rounds."""
    running = Campaign(root, seed)
    hits = [0, 0]
    for _ in range(4 * wanted):
        hits = [count + hit for count, hit in zip(hits, running.round(), strict=True)]
        if min(hits) >= wanted:
            break
    return hits[0], hits[1]


def timed(work: Callable[[], object]) -> tuple[float, object]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(*sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as place:
            print(campaign(Path(place), int(sys.argv[1]), seed=time.time_ns()))
