"""Whatever is done to a workspace, a rollback brings back what the snapshot holds, and spares what is ignored."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.workspace import GitSnapshots
from tests.support.trees import Tree, tree_of

DIRECTORIES = ["", "d1", "d1/e", "d2", "skip"]
NAMES = ["a", "b", "d1", "x.ign", "skip", "-é", "n\nl", "e"]
#: Rules that the test itself can apply: by the end of a name, and by a directory's name.
RULES = ["", "*.ign\n", "skip/\n", "*.ign\nskip/\n"]

paths = st.builds(
    lambda above, name: f"{above}/{name}".lstrip("/"), st.sampled_from(DIRECTORIES), st.sampled_from(NAMES)
)
contents = st.sampled_from([b"", b"1\n", b"2\r\n", b"longer\x00\xff"])
edits = st.one_of(
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("remove"), paths, st.none()),
    st.tuples(st.just("run"), paths, st.booleans()),
    st.tuples(st.just("link"), paths, st.sampled_from(["a", "nowhere", "/etc", ".", "d1"])),
    st.tuples(st.just("mkdir"), paths, st.none()),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("ignore"), st.none(), st.sampled_from(RULES)),
)


def edit(root: Path, what: str, path: str | None, value: Any) -> None:
    """One edit; what the file system refuses doesn't happen."""
    target = root / (path or ".gitignore")
    with contextlib.suppress(OSError):
        if what in ("write", "link", "mkdir"):
            target.parent.mkdir(parents=True, exist_ok=True)
        if what in ("write", "link", "remove"):
            shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink(
                missing_ok=True
            )
        match what:
            case "write":
                target.write_bytes(value)
            case "ignore":
                target.write_text(value)
            case "run" if not target.is_symlink() and target.is_file():
                target.chmod(0o755 if value else 0o644)
            case "link":
                target.symlink_to(value)
            case "mkdir":
                target.mkdir()
            case "move":
                target.rename(root / value)


def rules_of(root: Path) -> str:
    file = root / ".gitignore"
    return file.read_text() if file.is_file() else ""


def ignored(path: bytes, entry: tuple[object, ...], rules: str) -> bool:
    """Whether the rule ``*.ign`` or ``skip/`` holds for a path."""
    parts = path.split(b"/")
    above = parts if entry[0] == "directory" else parts[:-1]
    return ("*.ign" in rules and any(part.endswith(b".ign") for part in parts)) or (
        "skip/" in rules and b"skip" in above
    )


def expected(then: Tree, now: Tree, rules_then: str, rules_now: str) -> tuple[Tree, Tree]:
    """The files that the rollback is to leave, and of these the ones that are there because they are ignored."""
    spared = {
        path: entry
        for path, entry in now.items()
        if entry[0] != "directory"
        and (
            ignored(path, entry, rules_now)
            or (path not in then and ignored(path, entry, rules_then))
            or (path in then and ignored(path, then[path], rules_then))
        )
    }
    kept = {
        path: entry
        for path, entry in then.items()
        if entry[0] != "directory" and not ignored(path, entry, rules_then)
    }
    return {**kept, **spared}, spared


def files(tree: Tree) -> Tree:
    return {path: entry for path, entry in tree.items() if entry[0] != "directory"}


def touches(path: bytes, others: Tree) -> bool:
    """Whether one of the others lies below or above the path, or is at it."""
    return any(
        f"{a}/".startswith(f"{b}/")
        for other in others
        for a, b in ((os.fsdecode(path), os.fsdecode(other)), (os.fsdecode(other), os.fsdecode(path)))
    )


async def scenario(root: Path, before: list[Any], after: list[Any]) -> None:
    workspace = root / "workspace"
    workspace.mkdir()
    snapshots = GitSnapshots(root / "home", SystemClock())
    for each in before:
        edit(workspace, *each)
    then, rules_then = tree_of(workspace), rules_of(workspace)
    taken = await snapshots.take(workspace, "session", "taken")
    for each in after:
        edit(workspace, *each)
    now, rules_now = tree_of(workspace), rules_of(workspace)
    promised = await snapshots.roll_back(workspace, taken.snapshot_id, "session", "dry", dry_run=True)
    assert tree_of(workspace) == now
    done = await snapshots.roll_back(workspace, taken.snapshot_id, "session", "before")
    assert (done.changes, done.kept) == (promised.changes, promised.kept)
    result = tree_of(workspace)
    wanted, spared = expected(then, now, rules_then, rules_now)
    wrong = {path for path in {*wanted, *files(result)} if wanted.get(path) != result.get(path)}
    assert not {path for path in wrong if not touches(path, spared)}
    assert {path: result.get(path) for path in spared} == spared
    inert = {**spared, **ignored_of(now, rules_now), **ignored_of(now, rules_then)}
    check_directories(then, result, rules_then, inert)
    assert done.before
    undone = await snapshots.roll_back(workspace, done.before, "session", "undo")
    final = tree_of(workspace)
    unlike = {path for path in {*files(now), *files(final)} if now.get(path) != final.get(path)}
    inert |= ignored_of(then, rules_then) | ignored_of(result, rules_now)
    assert not {path for path in unlike if not touches(path, inert)}, undone


def ignored_of(tree: Tree, rules: str) -> Tree:
    return {path: entry for path, entry in tree.items() if ignored(path, entry, rules)}


def beside(path: bytes, others: Tree) -> bool:
    """Whether others lie around it: git doesn't show a directory that holds nothing but ignored files.

    Nor the empty ones in it, so that these are neither restored nor removed.
    """
    parts = path.split(b"/")
    return any(touches(b"/".join(parts[:depth]), others) for depth in range(1, len(parts) + 1))


def check_directories(then: Tree, result: Tree, rules_then: str, spared: Tree) -> None:
    """Empty directories come back; those made since go, unless something ignored lies in them."""
    for path, entry in result.items():
        if entry[0] == "directory" and then.get(path) != entry and not ignored(path, entry, rules_then):
            assert beside(path, spared) or ignored(path, entry, "*.ign skip/"), path
    for path, entry in then.items():
        empty = entry[0] == "directory" and not any(other.startswith(path + b"/") for other in then)
        if empty and not ignored(path, entry, rules_then) and not beside(path, spared):
            assert result.get(path) == entry, path


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(edits, max_size=12), st.lists(edits, max_size=12))
def test_a_rollback_is_the_snapshot_and_what_is_ignored(before: list[Any], after: list[Any]) -> None:
    """Random edits, modes, renames and rules, on both sides of the snapshot."""
    root = Path(tempfile.mkdtemp())
    try:
        asyncio.run(scenario(root, before, after))
    finally:
        shutil.rmtree(root)
