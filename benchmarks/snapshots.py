"""What a snapshot costs beside ``git status``, and ``git add -A && git write-tree``, on the same tree.

    .venv/bin/python benchmarks/snapshots.py [FILES] [--small-edits N]

Medians of alternating runs. Then the size of the store after many snapshots of small edits.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.workspace import GitSnapshots
from nonoka.adapters.workspace.collecting import size

ROUNDS = 9
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}


def git(directory: Path, *args: str, index: Path | None = None) -> None:
    env = {**ENVIRONMENT, **({"GIT_INDEX_FILE": str(index)} if index else {})}
    subprocess.run(["git", *args], cwd=directory, env=env, check=True, stdout=subprocess.DEVNULL)


def make_tree(workspace: Path, count: int, lot: random.Random) -> list[Path]:
    files = []
    for number in range(count):
        file = workspace / f"package{number // 100:03}" / f"part{number % 10}" / f"file{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"line {n} {lot.random()}\n" for n in range(lot.randint(5, 100))))
        files.append(file)
    (workspace / ".gitignore").write_text("*.pyc\nbuild/\n")
    git(workspace, "init", "-q")
    git(workspace, "config", "gc.auto", "0")
    git(workspace, "add", "-A")
    git(workspace, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "all")
    return files


def change(files: list[Path], count: int, lot: random.Random) -> int:
    """Append a line to so many files; returns the bytes added."""
    line = f"# {lot.random()}\n"
    for file in lot.sample(files, count):
        with file.open("a") as opened:
            opened.write(line)
    return len(line) * count


def timed(what: Callable[[], object]) -> float:
    begun = time.perf_counter()
    what()
    return (time.perf_counter() - begun) * 1000


def compare(
    workspace: Path, files: list[Path], snapshots: GitSnapshots, changed: int, loop: asyncio.Runner
) -> None:
    lot = random.Random(changed)
    index = workspace.parent / "index-beside"
    git(workspace, "add", "-A", index=index)
    times: dict[str, list[float]] = {"nonoka": [], "git status": [], "git add -A && git write-tree": []}
    for number in range(ROUNDS):
        change(files, changed, lot)
        order = [
            ("nonoka", lambda n=number: loop.run(snapshots.take(workspace, "benchmark", f"c{changed}-{n}"))),
            ("git status", lambda: git(workspace, "status", "--porcelain=v2")),
            (
                "git add -A && git write-tree",
                lambda: (git(workspace, "add", "-A", index=index), git(workspace, "write-tree", index=index)),
            ),
        ]
        lot.shuffle(order)
        for name, what in order:
            times[name].append(timed(what))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    told = "   ".join(f"{name} {median:7.1f} ms" for name, median in medians.items())
    print(f"{changed:5} changed   {told}   = {medians['nonoka'] / medians['git status']:.2f} x git status")


def grow(workspace: Path, files: list[Path], home: Path, count: int, loop: asyncio.Runner) -> None:
    clock = SystemClock()
    snapshots = GitSnapshots(home, clock)
    lot = random.Random(7)
    kept = [loop.run(snapshots.take(workspace, "benchmark", "first")).snapshot_id]
    begun = size(home)
    edited = 0
    for number in range(count):
        edited += change(files, 1, lot)
        kept.append(loop.run(snapshots.take(workspace, "benchmark", f"edit-{number}")).snapshot_id)
    grown = size(home)
    done = loop.run(snapshots.collect(kept, taken_until=clock.now_ms()))
    print(f"{count} snapshots of edits of {edited} bytes in all: the store grew from {begun:,} to {grown:,} bytes")
    print(f"on the disk; a collection that keeps all of them makes it {done.bytes_after:,}", end="")
    done = loop.run(snapshots.collect(kept[-1:], taken_until=clock.now_ms()))
    print(f", one that keeps the last {done.bytes_after:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=int, nargs="?", default=10_000)
    parser.add_argument("--small-edits", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, asyncio.Runner() as loop:
        workspace = Path(place, "workspace")
        workspace.mkdir()
        files = make_tree(workspace, asked.files, random.Random(1))
        snapshots = GitSnapshots(Path(place, "home"), SystemClock())
        first = timed(lambda: loop.run(snapshots.take(workspace, "benchmark", "first")))
        print(f"{asked.files} files; the first snapshot, which reads them all: {first:.0f} ms")
        time.sleep(1.1)  # files as old as the index that names them are read again by git and by us alike
        for changed in (0, 1, 1000):
            compare(workspace, files, snapshots, min(changed, asked.files), loop)
        grow(workspace, files, Path(place, "grown"), asked.small_edits, loop)


if __name__ == "__main__":
    main()
