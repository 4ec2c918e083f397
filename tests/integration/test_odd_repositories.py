"""Workspaces of every odd kind: a snapshot and a rollback have a defined outcome, git's side stays to the byte."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.workspace import GitSnapshots
from tests.support.trees import everything_of, git, tree_of


def plain(w: Path) -> None:
    (w / "a").write_text("a")
    (w / "d").mkdir()
    (w / "d" / "b").write_text("b")


def committed(w: Path) -> None:
    plain(w)
    git(w, "init", "--quiet")
    git(w, "add", "--all")
    git(w, "commit", "--quiet", "--message", "one")


def no_commits(w: Path) -> None:
    plain(w)
    git(w, "init", "--quiet")


def detached(w: Path) -> None:
    committed(w)
    git(w, "checkout", "--quiet", "--detach")


def rebasing(w: Path) -> None:
    committed(w)
    git(w, "checkout", "--quiet", "-b", "other")
    (w / "a").write_text("theirs")
    git(w, "commit", "--quiet", "--all", "--message", "two")
    git(w, "checkout", "--quiet", "-")
    (w / "a").write_text("ours")
    git(w, "commit", "--quiet", "--all", "--message", "three")
    git(w, "rebase", "--quiet", "other", check=False)
    assert (w / ".git" / "rebase-merge").is_dir()


def stashed_and_staged(w: Path) -> None:
    committed(w)
    (w / "a").write_text("stashed")
    git(w, "stash")
    (w / "a").write_text("staged")
    git(w, "add", "a")
    (w / "a").write_text("not staged")


def index_locked(w: Path) -> None:
    committed(w)
    (w / ".git" / "index.lock").write_text("")


def hooks_and_signing(w: Path) -> None:
    committed(w)
    for name in ("pre-commit", "post-commit", "post-checkout", "reference-transaction", "post-index-change"):
        hook = w / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{w}/ran-{name}'\n")
        hook.chmod(0o755)
    git(w, "config", "commit.gpgSign", "true")
    git(w, "config", "core.fsmonitor", f"{w}/.git/hooks/pre-commit")
    git(w, "config", "core.autocrlf", "true")


def filters(w: Path) -> None:
    """Line ends, keywords, encodings and LFS must not change a byte."""
    (w / ".gitattributes").write_text(
        "*.txt text eol=crlf\n*.bin filter=lfs diff=lfs merge=lfs -text\n"
        "*.id ident\n*.u working-tree-encoding=UTF-16\n"
    )
    (w / "mixed.txt").write_bytes(b"one\r\ntwo\nthree\r")
    (w / "big.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    (w / "key.id").write_bytes(b"$Id$ $Id: abc $\n")
    (w / "text.u").write_bytes(b"not utf-16")
    git(w, "init", "--quiet")
    git(w, "config", "filter.lfs.clean", "false")
    git(w, "config", "filter.lfs.smudge", "false")
    git(w, "config", "filter.lfs.required", "true")


def nested(w: Path) -> None:
    """A repository in a repository in a repository, one of them without a commit."""
    committed(w)
    for inner in ("vendor", "vendor/deep", "d/other"):
        (w / inner).mkdir()
        git(w / inner, "init", "--quiet")
        (w / inner / "file").write_text(inner)
    git(w / "vendor", "add", "file")
    git(w / "vendor", "commit", "--quiet", "--message", "inner")


def submodule(w: Path) -> None:
    library = w.parent / "library"
    library.mkdir()
    committed(library)
    committed(w)
    git(w, "submodule", "add", "--quiet", str(library), "lib")
    git(w, "commit", "--quiet", "--message", "with a submodule")


def worktree(w: Path) -> None:
    main = w.parent / "main"
    main.mkdir()
    committed(main)
    w.rmdir()
    git(main, "worktree", "add", "--quiet", "-b", "side", str(w))


def links(w: Path) -> None:
    committed(w)
    outside = w.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not ours")
    for name, to in (("dangling", "nowhere"), ("loop", "loop"), ("out", str(outside)), ("in", "d"), ("up", "..")):
        (w / name).symlink_to(to)


def odd_names(w: Path) -> None:
    git(w, "init", "--quiet")
    root = os.fsencode(w)
    names = [
        b"new\nline",
        b'quo"te',
        b"\xff\xfe",
        b"-rf",
        b" ",
        b"*",
        b":(top)x",
        b"back\\slash",
        b"x" * 255,
        b"git~1",
    ]
    for name in names:
        with open(os.path.join(root, name), "wb") as file:
            file.write(name)
    deep = os.path.join(root, *[b"y" * 200] * 5)
    os.makedirs(deep)
    with open(os.path.join(deep, b"f"), "wb") as file:
        file.write(b"deep")


def empty_directories(w: Path) -> None:
    committed(w)
    (w / "empty" / "inner" / "most").mkdir(parents=True)
    (w / "d" / "bare").mkdir()


def special_files(w: Path) -> None:
    committed(w)
    os.mkfifo(w / "pipe")
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.open(w, os.O_RDONLY)
        try:
            opened.bind(f"/proc/self/fd/{here}/socket")
        finally:
            os.close(here)


def modes(w: Path) -> None:
    committed(w)
    (w / "d" / "b").chmod(0o755)
    (w / "a").chmod(0o600)


KINDS = [
    plain, committed, no_commits, detached, rebasing, stashed_and_staged, index_locked, hooks_and_signing, filters,
    nested, submodule, worktree, links, odd_names, empty_directories, special_files, modes,
]  # fmt: skip


def git_dirs(w: Path) -> Iterator[Path]:
    for above, directories, _files in os.walk(w.parent):
        if ".git" in directories:
            yield Path(above, ".git")


def theirs(w: Path) -> dict[str, bytes]:
    """Every byte of every git directory around, and what git itself says of the workspace."""
    found = {file: content for each in git_dirs(w) for file, content in everything_of(each).items()}
    if (w / ".git").exists():
        status = git(w, "status", "--porcelain=v2", "--untracked-files=all", "--ignored=matching")
        found["status"] = "".join(line for line in status.splitlines(True) if ".nonoka" not in line).encode()
    return found


def make_havoc(w: Path) -> None:
    """Replace each file by a directory, each directory by a file, each link by its opposite."""
    for path in sorted(w.iterdir()):
        if path.name in (".git", ".nonoka", ".gitattributes", "vendor", "lib", "pipe", "socket"):
            continue
        if path.is_symlink() or path.is_file():
            path.unlink()
            path.mkdir()
            (path / "made").write_text("since")
        elif not any(path.rglob(".git")):
            for file in sorted(path.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
            path.rmdir()
            path.symlink_to("/etc")
    for inner in ("vendor/file", "vendor/deep/file", "lib/a", "d/other/file"):
        if (w / inner).exists():
            (w / inner).write_text("changed inside")
    (w / "made" / "since").mkdir(parents=True)
    (w / "made" / "file").write_text("since")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_an_odd_workspace_comes_back(kind: Callable[[Path], None], tmp_path: Path) -> None:
    """Contents, modes, links and empty directories; and nothing of the user's repositories has changed."""
    w = tmp_path / "place" / "workspace"
    w.mkdir(parents=True)
    kind(w)
    snapshots = GitSnapshots(tmp_path / "home", SystemClock())
    tree, before = tree_of(w), theirs(w)
    taken = await snapshots.take(w, "session", "one")
    assert theirs(w) == before
    make_havoc(w)
    ruined = tree_of(w)
    assert ruined != tree
    done = await snapshots.roll_back(w, taken.snapshot_id, "session", "before")
    assert (tree_of(w), done.kept) == (tree, ())
    assert theirs(w) == before
    assert await snapshots.repository_changes(w, taken.repository) is None
    assert done.before
    await snapshots.roll_back(w, done.before, "session", "undone")
    assert tree_of(w) == ruined


def test_the_table_reaches_what_lies_outside_through_no_link(tmp_path: Path) -> None:
    """The odd kinds are odd: the link to the outside is really one."""
    w = tmp_path / "workspace"
    w.mkdir()
    links(w)
    assert (w / "out" / "secret").read_text() == "not ours"
