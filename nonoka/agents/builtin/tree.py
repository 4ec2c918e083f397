"""What lies in a directory of the workspace, as the tools that list and search it see it."""

from __future__ import annotations

import heapq
import os
import stat
from typing import NamedTuple

from nonoka.agents.confined_path import STORE_DIR
from nonoka.agents.workspace_files import TEMP_PREFIX, TEMP_SUFFIX, WorkspaceFiles

#: named, but looked into only when asked for by name: what is in them is seldom meant, and a lot
CLOSED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})


class Entry(NamedTuple):
    """A name in a directory; a link is neither a file nor a directory."""

    name: str
    is_directory: bool
    is_file: bool


def start_of(files: WorkspaceFiles, path: str) -> str:
    """Where a path leads, links followed, as a path from the workspace on. Raises ToolFailure."""
    return files.resolve(path).relative_to(files.resolve(".")).as_posix()


def below(directory: str, name: str) -> str:
    """The path of a name in a directory, from the workspace on."""
    return name if directory == "." else f"{directory}/{name}"


def entries(files: WorkspaceFiles, directory: str, limit: int | None = None) -> list[Entry]:
    """The entries of a directory by name, only the first ``limit`` of them; nonoka's own are left out.

    Raises ToolFailure if it isn't, or is no longer, a directory.
    """
    with files.directory(directory) as descriptor, os.scandir(descriptor) as found:
        names = (entry.name for entry in found if not _is_hidden(entry.name))
        chosen = sorted(names) if limit is None else heapq.nsmallest(limit, names)
        return [_entry(name, descriptor) for name in chosen]


def shown(name: str) -> str:
    """The name on one line: a line break in it would read as two entries."""
    return name if name.isprintable() else repr(name)


def _entry(name: str, parent: int) -> Entry:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    return Entry(name, stat.S_ISDIR(mode), stat.S_ISREG(mode))


def _is_hidden(name: str) -> bool:
    return name.casefold() == STORE_DIR or (name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX))
