"""The built-in tools that read and write a file of the workspace."""

from __future__ import annotations

from typing import Annotated, BinaryIO

from pydantic import Field

from nonoka.agents.builtin.content_kind import SNIFFED_BYTES, not_text
from nonoka.agents.context import ToolContext
from nonoka.agents.tool import tool

#: what is read at once, so that it and the note after it fit into a model's share of a result (32 KiB)
READ_BYTES = 30_000
READ_LINES = 2_000
#: how much is looked at to say how many lines a file has
COUNTED_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024


@tool(effect="read_only")
def read_file(
    context: ToolContext,
    path: str,
    offset: Annotated[int, Field(ge=1)] = 1,
    limit: Annotated[int, Field(ge=1)] = READ_LINES,
) -> str:
    """Read a text file of the workspace.

    A long file is returned in parts; a note at the end then says which lines these are and how to go on.

    Args:
        path: The file, relative to the workspace.
        offset: The first line to read, counted from 1.
        limit: How many lines to read at most.
    """
    with context.files.open_file(path) as file:
        kind = not_text(file.read(SNIFFED_BYTES))
        if kind is not None:
            return f"[{path} is {kind} of {file.seek(0, 2)} bytes; it can't be shown as text]"
        file.seek(0)
        return _text_of(file, offset, limit)


@tool(effect="workspace")
def write_file(context: ToolContext, path: str, content: str) -> str:
    """Write a text file of the workspace, in place of what it held; missing directories are made.

    Args:
        path: The file, relative to the workspace.
        content: The whole of its new content.
    """
    return f"wrote {context.files.write_text(path, content)} bytes to {path}"


def _text_of(file: BinaryIO, offset: int, limit: int) -> str:
    skipped = _skip_lines(file, offset - 1)
    if skipped < offset - 1:
        return f"[the file has {skipped} lines; there is no line {offset}]"
    taken, lines, whole_last = _take_lines(file, limit)
    if not taken and offset == 1:
        return "[the file is empty]"
    if not taken:
        return f"[the file has {skipped} lines; there is no line {offset}]"
    text = taken.decode(errors="replace")
    rest, certain = _count_lines(file)
    if whole_last and rest == 0:
        return text
    last = offset + lines - 1
    total = last + rest - (0 if whole_last or not rest else 1)
    note = f"lines {offset} to {last} of {'' if certain else 'at least '}{total}"
    if not whole_last:
        note += f"; line {last} is too long, only its first {READ_BYTES} bytes are shown"
    if last < total:
        note += f"; go on with offset {last + 1}"
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}[{note}]"


def _skip_lines(file: BinaryIO, wanted: int) -> int:
    """Leave the file after that many lines; returns how many there were. A long line is not held in memory."""
    skipped, open_line = 0, False
    while skipped < wanted:
        part = file.readline(CHUNK_BYTES)
        if not part:
            return skipped + open_line
        open_line = not part.endswith(b"\n")
        skipped += not open_line
    return skipped


def _take_lines(file: BinaryIO, limit: int) -> tuple[bytes, int, bool]:
    """Whole lines within READ_BYTES, how many, and True; or the first bytes of one that is too long, 1, False."""
    taken: list[bytes] = []
    room = READ_BYTES
    while len(taken) < limit:
        line = file.readline(room + 1)
        if not line:
            break
        if len(line) > room:
            if not taken:
                # what follows is counted from the cut on
                file.seek(room - len(line), 1)
                return _whole_characters(line[:room]), 1, False
            file.seek(-len(line), 1)
            break
        taken.append(line)
        room -= len(line)
    return b"".join(taken), len(taken), True


def _whole_characters(data: bytes) -> bytes:
    """The bytes without a character that the cut went through."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        width = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        return data[:-back] if width > back else data
    return data


def _count_lines(file: BinaryIO) -> tuple[int, bool]:
    """How many lines follow (a begun one counts), and whether all of the file was looked at."""
    lines, seen, last = 0, 0, b"\n"
    while chunk := file.read(CHUNK_BYTES):
        lines += chunk.count(b"\n")
        seen += len(chunk)
        last = chunk[-1:]
        if seen >= COUNTED_BYTES:
            return lines + 1, not file.read(1)
    return lines + (last != b"\n"), True
