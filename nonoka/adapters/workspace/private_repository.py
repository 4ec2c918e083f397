"""The private git repository of one workspace: made, locked, and cleared of what a killed git left behind."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nonoka.adapters.workspace.git import ISOLATED, Git, clean_environment
from nonoka.adapters.workspace.objects import replace_durably
from nonoka.adapters.workspace.stopping import Stop
from nonoka.errors import WorkspaceGone

# Bytes are kept as they are: no conversion of line ends, no filters, no keywords, whatever the workspace's
# .gitattributes say; nothing of git's own runs by itself.
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tquotePath = false
\tautocrlf = false
\tsafecrlf = false
\tattributesFile = /dev/null
\thooksPath = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tsplitIndex = false
\tsparseCheckout = false
\tlogAllRefUpdates = false
\tfsync = loose-object,pack,pack-metadata,reference
[index]
\tversion = 4
[gc]
\tauto = 0
\tautoDetach = false
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
"""
# The highest place among attributes. "!" where "-" is not a valid value.
_ATTRIBUTES = "* -text !eol -crlf -filter -ident !working-tree-encoding\n"
_held: set[int] = set()


def _let_go() -> None:
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


@dataclass(frozen=True)
class PrivateRepository:
    """One workspace's private repository, locked by this process."""

    workspace: Path
    git_dir: Path
    stop: Stop
    lock: int

    def git(self, top: Path | None = None, excludes: Path | None = None) -> Git:
        """Git with the workspace as its directory and ``top`` as the root of the work tree."""
        # a workspace that is gone can still be compared and collected; git wants a work tree all the same
        there = self.workspace.is_dir()
        tree = (top or self.workspace) if there else self.git_dir.parent
        where = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(tree)}
        config = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.excludesFile",
            "GIT_CONFIG_VALUE_0": str(excludes or os.devnull),
        }
        directory = self.workspace if there else self.git_dir
        return Git(directory, clean_environment(**ISOLATED, **where, **config), self.stop, self.lock)

    def forget_index(self) -> None:
        """The index is built anew at the next look; every file will be read again."""
        (self.git_dir / "index").unlink(missing_ok=True)


def directory_of(home: Path, workspace: Path) -> Path:
    """Where the private repository of a workspace lies."""
    return home / "snapshots" / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]


@contextlib.contextmanager
def private_repository(home: Path, workspace: Path, stop: Stop) -> Iterator[PrivateRepository]:
    """The workspace's repository, made if there is none, and nobody else's meanwhile."""
    directory = directory_of(home, workspace)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(directory, stop) as lock:
        git_dir = directory / "git"
        if not (git_dir / "made").exists():
            _make(directory, git_dir, workspace)
        _remove_stale_locks(git_dir)
        yield PrivateRepository(workspace, git_dir, stop, lock)


@contextlib.contextmanager
def locked(directory: Path, stop: Stop) -> Iterator[int]:
    """This process alone works in the directory. Yields the lock's descriptor.

    A process that was killed held it until the last git that it had started ended.
    """
    path = directory / "lock"
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _held.add(descriptor)
        try:
            _wait_for(descriptor, stop)
            if _is_still(path, descriptor):
                yield descriptor
                return
        finally:
            if descriptor in _held:
                _held.discard(descriptor)
                os.close(descriptor)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def workspace_of(directory: Path) -> Path | None:
    """The workspace whose private repository this is; None for anything else."""
    try:
        note = json.loads((directory / "workspace.json").read_bytes())
        return Path(os.fsdecode(bytes.fromhex(note["path_hex"])))
    except (OSError, ValueError, KeyError):
        return None


def _wait_for(descriptor: int, stop: Stop) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stop.wait(0.01)
        else:
            return


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the file that was locked is the one at the path: a collection may have removed the directory."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _make(directory: Path, git_dir: Path, workspace: Path) -> None:
    shutil.rmtree(git_dir, ignore_errors=True)
    for part in ("objects/info", "objects/pack", "refs/heads", "info"):
        (git_dir / part).mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    (git_dir / "config").write_text(_CONFIG, encoding="ascii")
    (git_dir / "info" / "attributes").write_text(_ATTRIBUTES, encoding="ascii")
    path = os.fsencode(workspace)
    note = {"path": path.decode("utf-8", "backslashreplace"), "path_hex": path.hex()}
    replace_durably(directory / "workspace.json", json.dumps(note).encode())
    replace_durably(git_dir / "made", b"")


def _remove_stale_locks(git_dir: Path) -> None:
    """Their owners are dead: whoever works here, git or us, holds our lock."""
    for name in ("index.lock", "packed-refs.lock", "HEAD.lock", "config.lock", "gc.pid", "gc.pid.lock"):
        (git_dir / name).unlink(missing_ok=True)


def refuse_no_directory(workspace: Path) -> None:
    """Raise WorkspaceGone where the workspace isn't a directory."""
    if not workspace.is_dir():
        raise WorkspaceGone(str(workspace))
