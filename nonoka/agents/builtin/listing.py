"""The built-in tool that lists the workspace."""

from __future__ import annotations

from nonoka.agents.builtin.tree import CLOSED, Entry, below, entries, shown, start_of
from nonoka.agents.context import ToolContext
from nonoka.agents.tool import tool
from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.errors import ToolFailure

MAX_ENTRIES = 1_000


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
    lines = [shown(name) for name in sorted(found)]
    if not complete:
        lines.append(f"[only the nearest {len(found)} entries; list a directory among them to see more]")
    return "\n".join(lines)


def _nearest(files: WorkspaceFiles, path: str) -> tuple[list[str], bool]:
    """The entries below a directory, level by level, and whether these are all; as paths from the workspace on."""
    start = start_of(files, path)
    found: list[str] = []
    level = [start]
    while level:
        deeper: list[str] = []
        for directory in level:
            for entry in _entries(files, directory, MAX_ENTRIES - len(found) + 1, must=directory == start):
                if len(found) == MAX_ENTRIES:
                    return found, False
                place = below(directory, entry.name)
                found.append(f"{place}/" if entry.is_directory else place)
                if entry.is_directory and entry.name not in CLOSED:
                    deeper.append(place)
        level = deeper
    return found, True


def _entries(files: WorkspaceFiles, directory: str, limit: int, *, must: bool) -> list[Entry]:
    """The first entries of a directory; none if it vanished meanwhile."""
    try:
        return entries(files, directory, limit)
    except ToolFailure:
        if must:
            raise
        return []
