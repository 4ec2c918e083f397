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
        asyncio.run(snapshots.roll_back(Path(workspace), what, "killed", name, until_ms=None))
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


def campaign(root: Path, rounds: int, seed: int) -> tuple[int, int]:
    """So many kills inside a snapshot and inside a rollback; returns how many of each hit before the end."""
    lot = random.Random(seed)
    workspace, home = make_workspace(root), root / "home"
    snapshots = GitSnapshots(home, SystemClock())
    theirs = everything_of(workspace / ".git")
    first = asyncio.run(snapshots.take(workspace, "killed", "first"))
    tree = tree_of(workspace)
    hits = [0, 0]
    for number in range(rounds):
        disturb(workspace, lot)
        disturbed = tree_of(workspace)
        hits[0] += killed_after(lot.uniform(0, 0.25), "take", str(workspace), str(home), f"take-{number}")
        assert tree_of(workspace) == disturbed
        both_sound(workspace, home)
        again = asyncio.run(snapshots.take(workspace, "killed", f"take-{number}"))
        hits[1] += killed_after(
            lot.uniform(0, 0.4), first.snapshot_id, str(workspace), str(home), f"before-{number}"
        )
        both_sound(workspace, home)
        asyncio.run(snapshots.roll_back(workspace, first.snapshot_id, "killed", f"again-{number}"))
        assert tree_of(workspace) == tree
        asyncio.run(snapshots.roll_back(workspace, again.snapshot_id, "killed", "undone"))
        assert tree_of(workspace) == disturbed
        asyncio.run(snapshots.roll_back(workspace, first.snapshot_id, "killed", "undone"))
        assert everything_of(workspace / ".git") == theirs
    return hits[0], hits[1]


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(*sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as place:
            print(campaign(Path(place), int(sys.argv[1]), seed=time.time_ns()))
