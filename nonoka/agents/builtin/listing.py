"""The built-in tool that lists the workspace."""

from __future__ import annotations

import heapq
import os
import stat

from nonoka.agents.confined_path import STORE_DIR
from nonoka.agents.context import ToolContext
from nonoka.agents.tool import tool
from nonoka.agents.workspace_files import TEMP_PREFIX, TEMP_SUFFIX, WorkspaceFiles
from nonoka.errors import ToolFailure

MAX_ENTRIES = 1_000
#: shown, but looked into only when asked for by name: what is in them is seldom meant, and a lot
CLOSED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})


@tool(effect="read_only")
def list_files(context: ToolContext, path: str = ".") -> str:
    """List the files below a directory of the workspace, one path a line; directories end with a slash.

    Of a large tree the part nearest to the directory is listed. Not looked into, unless it is the
    directory asked for: .git, node_modules, .venv, __pycache__.

    Args:
        path: The directory, relative to the workspace.
    """
    found, complete = _nearest(context.files, path)
    if not found:
        return "[the directory is empty]"
    lines = [_shown(name) for name in sorted(found)]
    if not complete:
        lines.append(f"[only the nearest {len(found)} entries; list a directory among them to see more]")
    return "\n".join(lines)


def _nearest(files: WorkspaceFiles, path: str) -> tuple[list[str], bool]:
    """The entries below a directory, level by level, and whether these are all; as paths from the workspace on."""
    start = files.resolve(path).relative_to(files.resolve(".")).as_posix()
    found: list[str] = []
    level = [start]
    while level:
        deeper: list[str] = []
        for directory in level:
            prefix = "" if directory == "." else f"{directory}/"
            for name, is_directory in _entries(
                files, directory, MAX_ENTRIES - len(found) + 1, must=directory == start
            ):
                if len(found) == MAX_ENTRIES:
                    return found, False
                found.append(f"{prefix}{name}/" if is_directory else f"{prefix}{name}")
                if is_directory and name not in CLOSED:
                    deeper.append(f"{prefix}{name}")
        level = deeper
    return found, True


def _entries(files: WorkspaceFiles, directory: str, limit: int, *, must: bool) -> list[tuple[str, bool]]:
    """The first entries of a directory by name, and which are directories; none if it vanished meanwhile."""
    try:
        with files.directory(directory) as descriptor, os.scandir(descriptor) as entries:
            names = heapq.nsmallest(limit, (entry.name for entry in entries if not _is_hidden(entry.name)))
            return [(name, _is_directory(name, descriptor)) for name in names]
    except ToolFailure:
        if must:
            raise
        return []


def _is_directory(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _is_hidden(name: str) -> bool:
    return name.casefold() == STORE_DIR or (name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX))


def _shown(name: str) -> str:
    # a line break in a name would read as two entries
    return name if name.isprintable() else repr(name)
