"""The files of a workspace, as a tool may see them: nothing outside, nothing of a store, nothing that hangs."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from nonoka.agents.confined_path import Place, walked
from nonoka.agents.plain_value import without_surrogates
from nonoka.errors import ToolFailure

#: (st_dev, st_ino) of files that may not be opened, by whatever name.
FileIds = frozenset[tuple[int, int]]
#: A file of this prefix and suffix is a write that was cut off; listings leave it out.
TEMP_PREFIX, TEMP_SUFFIX = ".nonoka-", ".tmp"


class WorkspaceFiles:
    """The confined view of a directory.

    Paths are relative to ``root``, or absolute inside it. Refused, with a ToolFailure that says why: what
    leads outside (by "..", by absolute paths, by links), what has a ``.nonoka`` in it, pipes, devices and
    sockets, files of ``forbidden_files``, also under another name, and any writing unless ``writable``.
    Weakness: a directory that is moved out of the workspace while it is walked may still be seen.
    """

    def __init__(self, root: Path, forbidden_files: Callable[[], FileIds], *, writable: bool = True) -> None:
        self.root = root
        self._forbidden_files = forbidden_files
        self._writable = writable

    def resolve(self, path: str, *, for_writing: bool = False) -> Path:
        """The real path of a file or directory, links followed; checked as of now.

        It must exist, unless ``for_writing``.
        """
        if for_writing:
            self._refuse_writing(path)
        with self._place(path, may_be_missing=for_writing) as place:
            return Path(os.path.realpath(self.root)).joinpath(*place.parts)

    def open_file(self, path: str) -> BinaryIO:
        """A regular file, open for reading bytes."""
        with self._place(path) as place:
            _refuse_directory(place, path)
            # by the descriptor that was checked, so that it can't be another file
            return open(f"/proc/self/fd/{place.fd}", "rb")

    def read_text(self, path: str) -> str:
        """The whole of a file as text; bytes that aren't UTF-8 become U+FFFD."""
        with self.open_file(path) as file:
            return file.read().decode(errors="replace")

    def write_text(self, path: str, text: str) -> int:
        """The file holds the text (UTF-8), as a whole or not at all; returns its size in bytes."""
        return self.write_bytes(path, without_surrogates(text).encode())

    def write_bytes(self, path: str, data: bytes) -> int:
        """The file holds the data, as a whole or not at all; returns its size in bytes.

        Missing directories are made; the mode of a file that was there is kept. It becomes a new file: what
        else was linked to the old one keeps the old content.
        """
        self._refuse_writing(path)
        with self._place(path, may_be_missing=True, make_parents=True) as place:
            _refuse_directory(place, path)
            if place.fd is not None and not os.access(f"/proc/self/fd/{place.fd}", os.W_OK):
                raise ToolFailure(f"{path!r} is write-protected")
            _replace(place, data)
        return len(data)

    @contextmanager
    def directory(self, path: str) -> Iterator[int]:
        """A directory, opened; its descriptor is good for ``os.scandir`` until the block ends."""
        with self._place(path) as place:
            if place.status is None or not stat.S_ISDIR(place.status.st_mode):
                raise ToolFailure(f"{path!r} is a file, not a directory")
            descriptor = os.open(f"/proc/self/fd/{place.fd}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def _place(self, path: str, *, may_be_missing: bool = False, make_parents: bool = False) -> Iterator[Place]:
        try:
            with walked(self.root, path, may_be_missing=may_be_missing, make_parents=make_parents) as place:
                self._refuse_special(place, path)
                yield place
        except OSError as error:
            raise ToolFailure(f"{path!r}: {error.strerror or type(error).__name__}") from error

    def _refuse_writing(self, path: str) -> None:
        if not self._writable:
            raise ToolFailure(f"{path!r} can't be written: this tool's effect is 'read_only'")

    def _refuse_special(self, place: Place, path: str) -> None:
        status = place.status
        if status is None or stat.S_ISDIR(status.st_mode):
            return
        if not stat.S_ISREG(status.st_mode):
            raise ToolFailure(f"{path!r} is not a regular file (a pipe, socket or device)")
        if (status.st_dev, status.st_ino) in self._forbidden_files():
            raise ToolFailure(f"{path!r} is a file of nonoka's store under another name; tools may not open it")


def _refuse_directory(place: Place, path: str) -> None:
    if place.status is not None and stat.S_ISDIR(place.status.st_mode):
        raise ToolFailure(f"{path!r} is a directory, not a file")


def _replace(place: Place, data: bytes) -> None:
    old = place.status
    temp = f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temp, flags, 0o666, dir_fd=place.parent), "wb") as file:
        try:
            file.write(data)
            file.flush()
            if old is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            os.replace(temp, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temp, dir_fd=place.parent)
            raise
