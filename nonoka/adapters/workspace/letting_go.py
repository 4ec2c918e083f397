"""Removes a directory that was made for a session, if nothing in it would be lost with it."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from nonoka.adapters.workspace.git import Git, clean_environment, items
from nonoka.adapters.workspace.paths import shown
from nonoka.adapters.workspace.stopping import Stop
from nonoka.adapters.workspace.user_repository import find_repository, under_way
from nonoka.errors import WorkspaceError

#: How many files are named of a directory that stays.
NAMED = 3
_QUIET = ("core.hooksPath=/dev/null", "core.fsmonitor=false")
_OURS = b".nonoka/"
#: How the index lists a repository inside: git keeps the id of its commit, and none of its objects.
_REPOSITORY = b"160000 "
_TAB = b"\t"


def let_go(directory: Path, repository: Path | None, stop: Stop, *, dry_run: bool) -> str | None:
    """It is gone (None), or why it stays, in words."""
    if repository is None:
        return _remove_empty(directory, dry_run=dry_run)
    begun = directory.with_name(f".{directory.name}.gone")
    if directory.exists():
        why = _in_the_way(directory, stop)
        if why is not None or dry_run:
            return why
        # By one rename, so that a kill leaves either the whole of it, or something that is no working tree.
        directory.rename(begun)
    if dry_run:
        return None
    if repository.is_dir():
        _forget(Git(repository, clean_environment(), stop), directory)
    if begun.exists():
        shutil.rmtree(begun)
    with contextlib.suppress(OSError):
        directory.parent.rmdir()
    return None


def _remove_empty(directory: Path, *, dry_run: bool) -> str | None:
    if not directory.exists():
        return None
    inside = sorted(name for name in os.listdir(directory) if name != ".nonoka")
    if inside:
        return f"what is in it may be nowhere else: {_named(inside)}"
    if not dry_run:
        shutil.rmtree(directory)
        with contextlib.suppress(OSError):
            directory.parent.rmdir()
    return None


def _in_the_way(directory: Path, stop: Stop) -> str | None:
    found = find_repository(directory)
    if found is None or found.top != directory:
        return "it is no git working tree any more"
    if (found.git_dir / "locked").exists():
        return "it is locked; see: git worktree unlock"
    if under_way(found):
        return f"there is something under way in it: {_named(under_way(found))}"
    git = Git(directory, clean_environment(), stop)
    if not git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)):
        return "its HEAD is on no branch"
    inner = [entry for entry in items(git.run("ls-files", "--stage", "-z")) if entry.startswith(_REPOSITORY)]
    if inner:
        return f"there are repositories in it: {_named([shown(entry.partition(_TAB)[2]) for entry in inner])}"
    told = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignored=traditional")
    entries = [entry[3:] for entry in items(git.run(*told, options=_QUIET))]
    uncommitted = [shown(path) for path in entries if path != _OURS]
    return f"not committed: {_named(uncommitted)}" if uncommitted else None


def _forget(git: Git, directory: Path) -> None:
    """The repository knows of no working tree there; one that it does not know is as good."""
    known = items(git.run("worktree", "list", "--porcelain", "-z", options=_QUIET))
    if b"worktree " + os.fsencode(directory) in known:
        git.run("worktree", "remove", "--force", str(directory), options=_QUIET)
    if directory.exists():
        raise WorkspaceError(f"{str(directory)!r} has come back meanwhile")


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
