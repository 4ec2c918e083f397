"""The state of the user's repository, and in words how it differs from an earlier one."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from nonoka.adapters.workspace.git import ISOLATED, Git, GitFailed, clean_environment
from nonoka.adapters.workspace.note import RepositoryState
from nonoka.adapters.workspace.stopping import Stop
from nonoka.adapters.workspace.user_repository import (
    UserRepository,
    find_repository,
    head,
    index_checksum,
    refs,
    under_way,
)

#: Where the branches of sessions with a working tree of their own are.
_SESSIONS = "refs/heads/nonoka/"
#: Enough to tell what happened; the rest is counted.
_TOLD = 8


class Staged:
    """A digest of what an index holds, without the times in it: ``git status`` alone changes those.

    ``known`` maps a checksum of an index to its digest, so that an index is read once.
    """

    def __init__(self, known: dict[str, str], stop: Stop) -> None:
        self._known, self._stop = known, stop
        self.seen: dict[str, str] = {}

    def of(self, repository: UserRepository) -> str:
        """The digest for the index of this repository; that of its bytes where git can't read it."""
        checksum = index_checksum(repository)
        if checksum and checksum not in self.seen:
            self.seen[checksum] = self._known.get(checksum) or self._read(repository, checksum)
        return self.seen.get(checksum, "")

    def _read(self, repository: UserRepository, checksum: str) -> str:
        git = git_of(repository, repository.top, self._stop)
        try:
            listed = git.run("ls-files", "--stage", "-v", "-z", options=["core.fsmonitor=false"])
        except GitFailed:
            return checksum
        return hashlib.sha256(listed).hexdigest()


def git_of(repository: UserRepository, directory: Path, stop: Stop) -> Git:
    """Git for commands that only read the user's repository."""
    where = {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.top)}
    return Git(directory, clean_environment(**ISOLATED, **where), stop)


def read_state(
    repository: UserRepository | None, workspace: Path, nested: Iterable[str], staged: Staged
) -> RepositoryState:
    """The state as it is now."""
    inner = {path: _digest_of_nested(workspace / path, staged) for path in sorted(nested)}
    if repository is None:
        return RepositoryState(None, nested=inner)
    here = head(repository)
    # Other sessions commit on branches of their own all the time: that is nothing that happened in this workspace.
    # In a linked working tree so is what happens to any branch but its own: people work on them elsewhere.
    linked = repository.git_dir != repository.common_dir
    others = ("refs/heads/", "refs/remotes/") if linked else (_SESSIONS,)
    seen = {ref: to for ref, to in refs(repository).items() if here == f"ref: {ref}" or not ref.startswith(others)}
    return RepositoryState(here, seen, staged.of(repository), under_way(repository), inner)


def digest(state: RepositoryState) -> str | None:
    """A short name for the state, None where there is no repository at all."""
    if state.head is None and not state.nested:
        return None
    return hashlib.sha256(json.dumps(dataclasses.asdict(state), sort_keys=True).encode()).hexdigest()[:40]


def in_words(then: RepositoryState, now: RepositoryState) -> str | None:
    """What differs between two states, None where nothing does."""
    told = [*_of_head(then, now), *_of_refs(then.refs, now.refs)]
    if then.head is not None and now.head is not None and then.staged != now.staged:
        told.append("the index changed")
    told += [f"{name} has begun" for name in now.under_way if name not in then.under_way]
    told += [f"{name} has ended" for name in then.under_way if name not in now.under_way]
    told += _of_nested(then.nested, now.nested)
    if len(told) > _TOLD:
        told = [*told[:_TOLD], f"and {len(told) - _TOLD} changes more"]
    return ", ".join(told) or None


def _of_head(then: RepositoryState, now: RepositoryState) -> list[str]:
    if then.head == now.head:
        return []
    if then.head is None:
        return ["a git repository has come into being"]
    if now.head is None:
        return ["the git repository is gone"]
    return [f"HEAD was {_short(then.head)}, is {_short(now.head)}"]


def _of_refs(then: dict[str, str], now: dict[str, str]) -> list[str]:
    told = [f"{_named(ref)} is new" for ref in now if ref not in then]
    told += [f"{_named(ref)} is gone" for ref in then if ref not in now]
    moved = [ref for ref in now if ref in then and then[ref] != now[ref]]
    return told + [f"{_named(ref)} was {_short(then[ref])}, is {_short(now[ref])}" for ref in moved]


def _of_nested(then: dict[str, str], now: dict[str, str]) -> list[str]:
    told = [f"the repository in {path!r} is new" for path in now if path not in then]
    told += [f"the repository in {path!r} is gone" for path in then if path not in now]
    return told + [f"the repository in {path!r} changed" for path in now if then.get(path, now[path]) != now[path]]


def _named(ref: str) -> str:
    for begin, kind in (("refs/heads/", "branch"), ("refs/tags/", "tag"), ("refs/remotes/", "remote branch")):
        if ref.startswith(begin):
            return f"{kind} {ref.removeprefix(begin)}"
    return "the stash" if ref == "refs/stash" else ref


def _short(value: str) -> str:
    return value.removeprefix("ref: ") if value.startswith("ref: ") else value[:10]


def _digest_of_nested(directory: Path, staged: Staged) -> str:
    found = find_repository(directory)
    if found is None or found.top != directory:
        return ""
    state = RepositoryState(head(found), refs(found), staged.of(found), under_way(found))
    return digest(state) or ""
