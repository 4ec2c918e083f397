"""Looks at a workspace: the private index is what is there now, and a note says what it can't hold."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from nonoka.adapters.workspace.git import Git, GitFailed, items
from nonoka.adapters.workspace.index_update import (
    UNSYNCED,
    Update,
    apply,
    refresh_racy,
    sort_out,
    sync_file_system,
)
from nonoka.adapters.workspace.listing import STANDARD, Listing, list_directories, list_workspace, take_out
from nonoka.adapters.workspace.memory import Memory, recall, remember
from nonoka.adapters.workspace.note import Note
from nonoka.adapters.workspace.objects import EMPTY_TREE
from nonoka.adapters.workspace.paths import never_ours
from nonoka.adapters.workspace.private_repository import PrivateRepository, refuse_no_directory
from nonoka.adapters.workspace.repository_state import Staged, git_of, read_state
from nonoka.adapters.workspace.surroundings import Surroundings, git_for, survey
from nonoka.adapters.workspace.user_repository import index_checksum
from nonoka.errors import WorkspaceError

#: Files may vanish or change their kind while git reads them: someone else is at work, or nobody soon.
_TRIES = 5


@dataclass(frozen=True)
class Picture:
    """A workspace at one moment: the tree of its files, in the private repository, and the rest of it."""

    tree: str
    note: Note


def look(repo: PrivateRepository, max_file_bytes: int, *, sure: bool = False) -> Picture:
    """The workspace as it is now; ``sure`` asks again for what usually can't have changed.

    Raises WorkspaceError.
    """
    refuse_no_directory(repo.workspace)
    failed: GitFailed | None = None
    for _ in range(_TRIES):
        try:
            return _look(repo, max_file_bytes, sure)
        except GitFailed as error:
            failed = error
            if "index" in error.said:
                repo.forget_index()
    raise WorkspaceError(f"no snapshot of {str(repo.workspace)!r} can be made: {failed}") from failed


def _look(repo: PrivateRepository, max_file_bytes: int, sure: bool) -> Picture:
    around = survey(repo)
    memory = recall(repo.git_dir)
    if memory.top != str(around.top):
        repo.forget_index()
        memory = Memory(top=str(around.top), staged=memory.staged)
    git = git_for(repo, around)
    refresh_racy(repo, git)
    renewed = _renew_forced(repo, around, memory) or sure
    root, prefix = os.fsencode(repo.workspace), os.fsencode(around.prefix)
    listing = list_workspace(git, root, prefix)
    forced = [os.fsencode(path) for path in memory.absent if os.path.lexists(repo.workspace / path)]
    update = sort_out(root, listing, forced, max_file_bytes)
    apply(repo, git, update)
    _forget_ignored(git, memory, update, renewed)
    if update.gone or update.out or listing.incomplete:
        listing.directories = list_directories(git, root)
    note = _note(repo, around, memory, listing, update)
    if not memory.tree or memory.index != _index_file(repo):
        memory.tree = _write_tree(git, around.prefix, UNSYNCED if update.is_large else ())
        memory.index = _index_file(repo)
    if update.is_large:
        sync_file_system(os.fsencode(repo.git_dir))
    remember(repo.git_dir, memory)
    return Picture(memory.tree, note)


def _renew_forced(repo: PrivateRepository, around: Surroundings, memory: Memory) -> bool:
    """Find out again which ignored files the user's repository tracks, if its index or the rules changed."""
    checksum = index_checksum(around.tracks) if around.tracks else ""
    rules = hashlib.sha256(json.dumps([asdict(around.rules), checksum]).encode()).hexdigest()
    if memory.rules == rules:
        return False
    memory.rules, memory.forced = rules, []
    if around.tracks and checksum:
        git = git_of(around.tracks, repo.workspace, repo.stop)
        options = [f"core.excludesFile={repo.git_dir / 'info' / 'everywhere'}", "core.fsmonitor=false"]
        listed = items(git.run("ls-files", "-z", "--cached", "--ignored", *STANDARD, options=options))
        memory.forced = [os.fsdecode(path) for path in listed if not never_ours(path)]
    memory.absent = memory.forced
    return True


def _forget_ignored(git: Git, memory: Memory, update: Update, renewed: bool) -> None:
    """What has become ignored is no longer in the index."""
    touched = (*update.put, *update.gone, *update.out)
    if not renewed and not any(path.rsplit(b"/")[-1] == b".gitignore" for path in touched):
        return
    ignored = items(git.run("ls-files", "-z", "--cached", "--ignored", *STANDARD))
    forced = {os.fsencode(path) for path in memory.forced}
    if now_out := [path for path in ignored if path not in forced]:
        take_out(git, now_out)
        update.out += now_out


def _note(repo: PrivateRepository, around: Surroundings, memory: Memory, listing: Listing, update: Update) -> Note:
    known = {*memory.nested, *map(os.fsdecode, listing.nested)}
    memory.nested = sorted(path for path in known if os.path.lexists(repo.workspace / path / ".git"))
    left_out = {entry.path for entry in update.left_out}
    memory.absent = [
        path for path in memory.forced if path in left_out or not os.path.lexists(repo.workspace / path)
    ]
    staged = Staged(memory.staged, repo.stop)
    state = read_state(around.repository, repo.workspace, memory.nested, staged)
    memory.staged = staged.seen
    directories = sorted({os.fsdecode(path) for path in listing.directories})
    return Note(
        around.prefix, directories, sorted(update.left_out, key=lambda entry: entry.path), around.rules, state
    )


def _index_file(repo: PrivateRepository) -> list[int]:
    try:
        found = (repo.git_dir / "index").stat()
    except FileNotFoundError:
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _write_tree(git: Git, prefix: str, options: Iterable[str]) -> str:
    try:
        return git.run("write-tree", *([f"--prefix={prefix}"] if prefix else []), options=options).decode().strip()
    except GitFailed as error:
        if "prefix" not in error.said:
            raise
        return EMPTY_TREE
