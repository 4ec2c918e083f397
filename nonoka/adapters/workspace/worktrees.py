"""Worktrees in the user's own repository: the one place that writes there, because the user asked for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from nonoka.adapters.workspace import letting_go
from nonoka.adapters.workspace.git import Git, GitFailed, clean_environment
from nonoka.adapters.workspace.private_repository import refuse_no_directory
from nonoka.adapters.workspace.stopping import Stop, in_thread
from nonoka.adapters.workspace.user_repository import find_repository
from nonoka.errors import WorkspaceError

#: The user's configuration holds, but for what would run programs of theirs, or ask for something.
_QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
_OURS = ("user.name=nonoka", "user.email=nonoka@localhost")
T = TypeVar("T")


class GitWorktrees:
    """The Worktrees port over ``git worktree``."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="nonoka-worktrees")

    async def root(self, directory: Path) -> Path:
        """The root of the working tree around it."""
        return await in_thread(self._threads, lambda _stop: _root(directory))

    async def outermost(self, directory: Path) -> Path:
        """The root of the outermost working tree around it; itself without one."""
        return await in_thread(self._threads, lambda _stop: _outermost(directory))

    async def make(
        self, repository: Path, target: Path, branch: str, *, inner: str = "", empty: bool = False
    ) -> None:
        """``target`` is a worktree of HEAD on a new branch; one that was begun and not ended is made anew.

        ``empty``: its index is HEAD's, and none of its files are there yet.
        """

        def work(git: Git) -> None:
            _make(git, repository, target, branch, empty=empty)
            (target / inner).mkdir(parents=True, exist_ok=True)

        await self._run(repository, work)
        if empty:
            await self._run(target, lambda git: git.run("read-tree", "HEAD", options=_QUIET))

    async def commit(self, worktree: Path, message: str) -> str | None:
        """What changed in it is committed: the commit's id, None where nothing had changed."""
        return await self._run(worktree, lambda git: _commit(git, worktree, message))

    async def remove(self, worktree: Path) -> None:
        """The working tree is gone, with what was not committed; its branch stays."""
        await self._run(worktree, lambda git: _remove(git, worktree))

    async def let_go(self, directory: Path, repository: Path | None, *, dry_run: bool = False) -> str | None:
        """The directory is gone (None), or why it stays. See the port."""
        return await in_thread(
            self._threads, lambda stop: letting_go.let_go(directory, repository, stop, dry_run=dry_run)
        )

    async def _run(self, directory: Path, work: Callable[[Git], T]) -> T:
        def there(stop: Stop) -> T:
            try:
                return work(_git(directory, stop))
            except OSError as error:
                raise WorkspaceError(f"{error.filename or directory}: {error.strerror or error}") from error

        return await in_thread(self._threads, there)


def _git(directory: Path, stop: Stop) -> Git:
    return Git(directory, clean_environment(), stop)


def _root(directory: Path) -> Path:
    found = find_repository(directory)
    if found is None:
        raise WorkspaceError(
            f"{str(directory)!r} is in no git repository, so it can have no worktree; see: git init"
        )
    return found.top


def _outermost(directory: Path) -> Path:
    found, outermost, home = find_repository(directory), directory, Path.home().resolve()
    # A home that is a repository itself, or what is above it, is nobody's to put something beside.
    while found is not None and found.top not in (home, *home.parents):
        outermost = found.top
        found = None if outermost.parent == outermost else find_repository(outermost.parent)
    return outermost


def _make(git: Git, repository: Path, target: Path, branch: str, *, empty: bool) -> None:
    _root(repository)
    if not git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1)):
        raise WorkspaceError(f"the repository of {str(repository)!r} has no commit yet; make one first")
    if _is_made(target, branch):
        return
    if target.exists() and any(target.iterdir()):
        if not _was_begun(target):
            raise WorkspaceError(f"{str(target)!r} is not empty; a worktree needs a directory of its own")
        shutil.rmtree(target)
    ref = f"refs/heads/{branch}"
    begun = git.run("rev-parse", "--verify", "--quiet", ref, ok=(0, 1))
    new = () if begun else ("-b", branch)
    # forced, since what a kill left registered at this place is ours
    force: tuple[str, ...] = ("--force", "--force")
    where = (str(target), branch) if begun else (str(target), "HEAD")
    force = (*force, "--no-checkout") if empty else force
    git.run("worktree", "add", "--quiet", *force, *new, *where, options=_QUIET)


def _remove(git: Git, worktree: Path) -> None:
    if worktree.exists():
        git.run("worktree", "remove", "--force", "--force", str(worktree))


def _is_made(target: Path, branch: str) -> bool:
    found = find_repository(target)
    if found is None or found.top != target or _was_begun(target):
        return False
    return (found.git_dir / "HEAD").read_text().strip() == f"ref: refs/heads/{branch}"


def _was_begun(target: Path) -> bool:
    """Whether git was killed while it made the worktree: it locks one until it is whole."""
    found = find_repository(target)
    if found is None or found.top != target:
        return False
    lock = found.git_dir / "locked"
    return lock.is_file() and lock.read_text().strip() == "initializing"


def _commit(git: Git, worktree: Path, message: str) -> str | None:
    refuse_no_directory(worktree)
    found = find_repository(worktree)
    if found is None or found.git_dir == found.common_dir:
        raise WorkspaceError(f"{str(worktree)!r} is no working tree of its own any more")
    git.run("add", "--all", "--", ":/", options=_QUIET)
    # Left out by hand: to exclude it above is refused where the user's rules ignore it, as they should.
    git.run("reset", "--quiet", "--", ":(top,glob)**/.nonoka/**", options=_QUIET)
    try:
        git.run("diff", "--cached", "--quiet", "--no-ext-diff", options=_QUIET)
    except GitFailed:
        known = git.run("config", "--get", "user.email", ok=(0, 1))
        options = (*_QUIET, *(() if known else _OURS))
        git.run("commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", message, options=options)
        return git.run("rev-parse", "HEAD").decode().strip()
    return None
