"""Walks a path component by component without leaving a directory. Used by workspace_files.py.

Directories are held open while walking, so that nothing is looked up twice; only O_PATH is used, which
opens neither devices nor pipes and, when closed, drops no POSIX lock of this process.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nonoka.errors import ToolFailure

#: the kernel's own limits (path_resolution(7))
MAX_LINKS = 40
MAX_PATH_BYTES = 4_095
STORE_DIR = ".nonoka"
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads. ``fd`` (O_PATH) is None where nothing is there; ``parts`` count from the root.

    ``parent`` holds ``name`` (a directory's is "." in itself), unless directories before it are missing too.
    Valid while the walk is open.
    """

    parts: tuple[str, ...]
    parent: int
    name: str
    fd: int | None

    @property
    def status(self) -> os.stat_result | None:
        """What is there, None for nothing."""
        return None if self.fd is None else os.fstat(self.fd)


@contextmanager
def walked(root: Path, path: str, *, make_parents: bool = False, may_be_missing: bool = False) -> Iterator[Place]:
    """The place of a path in a directory, its file descriptors open until the block ends.

    Links are followed as long as they stay inside. Raises ToolFailure for what leads outside or to a
    store's directory; OSError for what the system refuses.
    """
    with ExitStack() as held:
        yield _Walk(root, path, held).to_the_end(make_parents=make_parents, may_be_missing=may_be_missing)


def inner_parts(root: Path, path: str, asked: str) -> list[str]:
    """The components of a path from the root on; an absolute one must begin with the root."""
    if not os.path.isabs(path):
        return path.split("/")
    # pathlib drops "." and doubled slashes and leaves ".." for the walk to judge
    for base in {root, Path(os.path.realpath(root))}:
        if PurePosixPath(path).is_relative_to(base):
            return list(PurePosixPath(path).relative_to(base).parts)
    raise ToolFailure(f"{asked!r} leads outside the workspace; give a path relative to the workspace")


class _Walk:
    def __init__(self, root: Path, path: str, held: ExitStack) -> None:
        _refuse_unusable(path)
        self._root, self._asked = root, path
        self._ends_in_slash = path.endswith("/")
        self._open: set[int] = set()
        held.callback(self._close_all)
        self._dirs = [self._hold(os.open(root, _LOOK & ~os.O_NOFOLLOW | os.O_DIRECTORY))]
        if _is_store_dir(*Path(os.readlink(f"/proc/self/fd/{self._dirs[0]}")).parts):
            raise ToolFailure(f"the workspace lies inside a {STORE_DIR} directory, which tools may not open")
        self._names: list[str] = []
        self._todo = inner_parts(root, path, path)[::-1]
        self._links = 0

    def to_the_end(self, *, make_parents: bool, may_be_missing: bool) -> Place:
        while self._todo:
            name = self._todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                self._go_up()
                continue
            if _is_store_dir(name):
                raise self._into_store()
            fd = self._look(name)
            if fd is None:
                rest = self._checked_rest(name)
                if self._ends_in_slash or not may_be_missing:
                    raise _not_found((*self._names, name))
                if not rest or not make_parents:
                    return Place((*self._names, name, *rest), self._dirs[-1], name, None)
                self._make(name)
                continue
            mode = os.fstat(fd).st_mode
            if stat.S_ISLNK(mode):
                self._follow(fd)
            elif stat.S_ISDIR(mode):
                self._names.append(name)
                self._dirs.append(fd)
            elif any(part != "" for part in self._todo) or self._ends_in_slash:
                raise NotADirectoryError(errno.ENOTDIR, "Not a directory", "/".join((*self._names, name)))
            else:
                return Place((*self._names, name), self._dirs[-1], name, fd)
        return Place(tuple(self._names), self._dirs[-1], ".", self._dirs[-1])

    def _hold(self, fd: int) -> int:
        self._open.add(fd)
        return fd

    def _let_go(self, fd: int) -> None:
        self._open.remove(fd)
        os.close(fd)

    def _close_all(self) -> None:
        for fd in list(self._open):
            self._let_go(fd)

    def _look(self, name: str) -> int | None:
        try:
            return self._hold(os.open(name, _LOOK, dir_fd=self._dirs[-1]))
        except FileNotFoundError:
            return None

    def _go_up(self) -> None:
        if not self._names:
            raise ToolFailure(f"{self._asked!r} leads outside the workspace")
        self._names.pop()
        self._let_go(self._dirs.pop())

    def _follow(self, link: int) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolFailure(f"{self._asked!r} follows too many symbolic links")
        target = os.readlink("", dir_fd=link)
        self._let_go(link)
        try:
            parts = inner_parts(self._root, target, self._asked)
        except ToolFailure:
            raise ToolFailure(
                f"{self._asked!r} is, or goes through, a symbolic link that leads outside the workspace"
            ) from None
        while os.path.isabs(target) and self._names:
            self._go_up()
        self._todo.extend(parts[::-1])

    def _checked_rest(self, missing: str) -> list[str]:
        """What follows a missing component; judged before any of it is made."""
        rest = [part for part in reversed(self._todo) if part not in ("", ".")]
        if _is_store_dir(*rest):
            raise self._into_store()
        if ".." in rest:
            raise _not_found((*self._names, missing))
        return rest

    def _make(self, name: str) -> None:
        # made by another meanwhile is as good
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._dirs[-1])
        self._todo.append(name)

    def _into_store(self) -> ToolFailure:
        return ToolFailure(f"{self._asked!r} leads into {STORE_DIR}, which is nonoka's own; tools may not open it")


def _not_found(parts: tuple[str, ...]) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", "/".join(parts))


def _refuse_unusable(path: str) -> None:
    with suppress(UnicodeEncodeError):
        data = os.fsencode(path)
        if len(data) > MAX_PATH_BYTES:
            raise ToolFailure(f"{path[:60]!r}… is not a path: it is {len(data)} bytes long")
        if b"\0" not in data:
            return
    raise ToolFailure(f"{path!r} is not a path: it holds a character that no file name can have")


def _is_store_dir(*names: str) -> bool:
    # some file systems take .Nonoka for the same name
    return any(name.casefold() == STORE_DIR for name in names)
