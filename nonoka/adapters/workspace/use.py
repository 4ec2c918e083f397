"""Marks in a workspace's ``.nonoka/`` by which stores that share a disk see who is changing it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nonoka.adapters.workspace.objects import replace_durably
from nonoka.adapters.workspace.own_directory import own_directory
from nonoka.adapters.workspace.private_repository import refuse_no_directory
from nonoka.adapters.workspace.stopping import Stop, in_thread
from nonoka.errors import WorkspaceError
from nonoka.records.base import Record

_MARKS = "in-use"


class Mark(Record):
    """Which session of which store is changing the workspace that the mark lies in."""

    store: str
    store_id: str
    session_id: str


class MarkedUse:
    """The WorkspaceUse port by files.

    ``held`` says whether the store in a file still has a workspace locked by a session; it alone opens the
    file. Announce first and look then: of two that begin at once, both see each other.
    """

    def __init__(self, store: Path, store_id: str, held: Callable[[Path, str], bool]) -> None:
        self._store, self._store_id, self._held = store.absolute(), store_id, held
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="nonoka-marks")

    async def announce(self, workspace: Path, session_id: str) -> None:
        """The mark is there. Raises WorkspaceError."""
        mark = Mark(store=str(self._store), store_id=self._store_id, session_id=session_id)

        def work(_stop: Stop) -> None:
            refuse_no_directory(workspace)
            try:
                marks = own_directory(workspace) / _MARKS
                marks.mkdir(exist_ok=True)
                replace_durably(self._file(workspace, session_id), mark.model_dump_json().encode())
            except OSError as error:
                raise WorkspaceError(f"no mark can be left in {str(workspace)!r}: {error}") from error

        await in_thread(self._threads, work)

    async def others(self, workspace: Path) -> str | None:
        """Who else is changing it, or a directory above or below, in words. Stale marks are removed."""
        return await in_thread(self._threads, lambda stop: self._others(workspace, stop))

    async def withdraw(self, workspace: Path, session_id: str) -> None:
        """The mark is gone."""
        _remove(self._file(workspace, session_id))

    def _file(self, workspace: Path, session_id: str) -> Path:
        return workspace / ".nonoka" / _MARKS / f"{self._store_id}-{session_id}.json"

    def _others(self, workspace: Path, stop: Stop) -> str | None:
        for directory in _around(workspace, stop):
            for file in sorted((directory / ".nonoka" / _MARKS).glob("*.json")):
                mark = _read(file)
                if mark is None or mark.store_id == self._store_id:
                    continue
                if self._is_held(mark):
                    where = "" if directory == workspace else f" in {str(directory)!r}"
                    return f"session {mark.session_id!r} of the store {mark.store!r}{where}"
                _remove(file)
        return None

    def _is_held(self, mark: Mark) -> bool:
        return Path(mark.store).exists() and self._held(Path(mark.store), mark.session_id)


def _around(workspace: Path, stop: Stop) -> Iterator[Path]:
    """The workspace, the directories above, and those below, where marks may lie."""
    yield workspace
    yield from workspace.parents
    for above, directories, _files in os.walk(workspace):
        stop.check()
        if ".nonoka" in directories and Path(above) != workspace:
            yield Path(above)
        directories[:] = [name for name in directories if name not in (".git", ".nonoka")]


def _remove(file: Path) -> None:
    # A mark that can't be removed, or whose workspace is gone, is a stale one: it is in nobody's way.
    with contextlib.suppress(OSError):
        file.unlink()


def _read(file: Path) -> Mark | None:
    try:
        return Mark.model_validate(json.loads(file.read_bytes()))
    except (OSError, ValueError):
        return None
