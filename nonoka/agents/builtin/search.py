"""The built-in tool that searches the files of the workspace."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from nonoka.agents.builtin.content_kind import SNIFFED_BYTES, not_text
from nonoka.agents.builtin.tree import CLOSED, below, entries, shown, start_of
from nonoka.agents.context import ToolContext
from nonoka.agents.tool import tool
from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.decisions.pattern import MATCH_S, Pattern, TooSlow
from nonoka.errors import ToolFailure

MAX_MATCHES = 200
#: so that the matches and the notes after them fit into a model's share of a result (32 KiB)
MATCHES_BYTES = 30_000
MAX_FILE_BYTES = 5_000_000
#: how much of a line is searched, and how much of it is shown
SEARCHED_CHARACTERS = 10_000
SHOWN_CHARACTERS = 300
#: how long one search may go on
SEARCH_S = 30.0


@tool(effect="read_only")
def search_files(context: ToolContext, pattern: str, path: str = ".") -> str:
    """Search the text files of the workspace, line by line; each line that matches is given as path:line: text.

    At most 200 lines are given. Not looked into, unless it is what was asked for: .git, node_modules,
    .venv, __pycache__; and never: binary files, files over 5 MB, links.

    Args:
        pattern: A regular expression as in Python; (?i) at its beginning ignores case.
        path: The directory or file to search, relative to the workspace.
    """
    search = _Search(context.files, Pattern(pattern))
    # a thread that the engine has given up ends by itself
    timer = threading.Timer(SEARCH_S, search.time_is_up.set)
    timer.daemon = True
    timer.start()
    try:
        return search.below(path)
    finally:
        timer.cancel()


class _Search:
    def __init__(self, files: WorkspaceFiles, pattern: Pattern) -> None:
        self._files = files
        self._pattern = pattern
        self._found: list[str] = []
        self._room = MATCHES_BYTES
        self._searched = 0
        self._too_large: list[str] = []
        self._unread: list[str] = []
        self._long_lines = False
        self.time_is_up = threading.Event()

    def below(self, path: str) -> str:
        for name in self._names(start_of(self._files, path)):
            if self.time_is_up.is_set():
                return self._report(f"the search was ended after {SEARCH_S:g} s, before {shown(name)}; narrow it")
            if not self._in_file(name):
                return self._report(f"only the first {len(self._found)} matches; narrow the pattern or the path")
        return self._report()

    def _names(self, start: str) -> Iterator[str]:
        """The files from there on, in the order of their paths."""
        waiting = [f"{start}/" if self._files.resolve(start).is_dir() else start]
        while waiting:
            place = waiting.pop()
            if not place.endswith("/"):
                yield place
                continue
            try:
                inside = entries(self._files, place[:-1])
            except ToolFailure:
                self._unread.append(place)
                continue
            names = [
                f"{below(place[:-1], entry.name)}{'/' if entry.is_directory else ''}"
                for entry in inside
                if entry.is_file or (entry.is_directory and entry.name not in CLOSED)
            ]
            waiting += sorted(names, reverse=True)

    def _in_file(self, name: str) -> bool:
        """Search one file; whether there is room for more matches."""
        for number, line in enumerate(self._lines(name), 1):
            if self.time_is_up.is_set():
                return True
            if len(line) > SEARCHED_CHARACTERS:
                self._long_lines = True
                line = line[:SEARCHED_CHARACTERS]
            try:
                start = self._pattern.find(line)
            except TooSlow:
                raise ToolFailure(
                    f"the pattern takes more than {MATCH_S:g} s on line {number} of {shown(name)}; use a simpler "
                    "one (nested repeats such as (a+)+ are what makes them slow)"
                ) from None
            if start is not None and not self._add(f"{shown(name)}:{number}: {_part(line, start)}"):
                return False
        return True

    def _lines(self, name: str) -> list[str]:
        try:
            with self._files.open_file(name) as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    self._too_large.append(name)
                    return []
                data = file.read(SNIFFED_BYTES)
                if not_text(data) is not None:
                    return []
                data += file.read(MAX_FILE_BYTES)
        except (ToolFailure, OSError):
            self._unread.append(name)
            return []
        self._searched += 1
        lines = data.decode(errors="replace").split("\n")
        return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]

    def _add(self, match: str) -> bool:
        self._room -= len(match.encode(errors="replace")) + 1
        if len(self._found) == MAX_MATCHES or self._room < 0:
            return False
        self._found.append(match)
        return True

    def _report(self, cut: str | None = None) -> str:
        notes = [cut] if cut else []
        if not self._found and cut is None:
            notes.append(f"no matches; {self._searched} text files were searched")
        if self._too_large:
            notes.append(f"not searched, being over {MAX_FILE_BYTES // 1_000_000} MB: {_listed(self._too_large)}")
        if self._unread:
            notes.append(f"could not be read: {_listed(self._unread)}")
        if self._long_lines:
            notes.append(f"of longer lines only the first {SEARCHED_CHARACTERS} characters were searched")
        return "\n".join([*self._found, *(f"[{note}]" for note in notes)])


def _part(line: str, start: int) -> str:
    """The line, or what of it is around the match."""
    if len(line) <= SHOWN_CHARACTERS:
        return line
    first = 0 if start < SHOWN_CHARACTERS // 2 else start - SHOWN_CHARACTERS // 4
    part = line[first : first + SHOWN_CHARACTERS]
    return f"{'…' if first else ''}{part}{'…' if first + SHOWN_CHARACTERS < len(line) else ''}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(shown(name) for name in names[:3]) + more
