"""Results too large for the conversation, as files beside the store."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from contextlib import ExitStack
from pathlib import Path

from nonoka.ports.artifacts import Excerpt

_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class ArtifactFiles:
    """Keeps each session's artifacts in a directory of its own, private to the user."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, session_id: str, name: str, text: str) -> str:
        """The text is in ``<directory>/<session_id>/<name>``, whole or not at all; returns that relative path."""
        folder = self._directory / session_id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".{name}.{os.getpid()}"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(folder / name)
        return f"{session_id}/{name}"

    def remove(self, session_id: str) -> None:
        """The session's directory is gone; links in it are removed, not followed."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._directory / session_id)

    def kept(self) -> dict[str, int]:
        """The size of each session's directory; links in it are not followed."""
        try:
            with os.scandir(self._directory) as found:
                folders = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return {}
        return {folder.name: _size(folder.path) for folder in folders}

    def read(self, session_id: str, handle: str, offset: int, limit: int) -> Excerpt | None:
        """A part of a kept text; None unless the handle is one that ``keep`` gave for this session."""
        owner, _, name = handle.partition("/")
        if owner != session_id or not name or "/" in name or "\0" in name or name.startswith("."):
            return None
        data = _bytes_of(self._directory / session_id, name)
        if data is None:
            return None
        text = data.decode(errors="replace")
        return Excerpt(text=text[offset : offset + limit], total=len(text))


def _size(folder: str) -> int:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(above, name)).st_blocks * 512
    return total


def _bytes_of(folder: Path, name: str) -> bytes | None:
    """A file's content, if it is a file of its own: a link that a command put there could lead to the store,
    and to open and close the store drops this process's locks on it."""
    with ExitStack() as held:
        try:
            inside = os.open(folder, _LOOK | os.O_DIRECTORY)
            held.callback(os.close, inside)
            file = os.open(name, _LOOK, dir_fd=inside)
            held.callback(os.close, file)
        except (OSError, UnicodeEncodeError):
            return None
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return None
        return Path(f"/proc/self/fd/{file}").read_bytes()
