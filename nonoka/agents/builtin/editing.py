"""The built-in tool that replaces a part of a file."""

from __future__ import annotations

import re

from nonoka.agents.builtin.content_kind import not_text
from nonoka.agents.builtin.near_misses import near_misses
from nonoka.agents.context import ToolContext
from nonoka.agents.plain_value import without_surrogates
from nonoka.agents.tool import tool
from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.errors import ToolFailure

MAX_EDITED_BYTES = 10_000_000
#: how many line numbers are named
NAMED_PLACES = 10

#: where a piece of a text begins and ends
Span = tuple[int, int]


@tool(effect="workspace")
def edit_file(context: ToolContext, path: str, old: str, new: str) -> str:
    """Replace one piece of a text file of the workspace by another.

    The old text must be there exactly, whitespace included, and only once: take in as many of the lines
    around it as make it unique. Line endings stay what they are in the file.

    Args:
        path: The file, relative to the workspace.
        old: The text to replace.
        new: The text to put in its place; empty to delete it.
    """
    if old == new:
        raise ToolFailure("old and new are the same text; nothing was changed")
    if not old:
        raise ToolFailure("old is empty; name the text to replace, or write a new or empty file with write_file")
    new = without_surrogates(new)
    text = _read(context.files, path)
    places = _places(text, old)
    if context.attempt > 1 and (line := _line_of_earlier_attempt(text, places, new)):
        return (
            f"an attempt of this edit that was cut off has made it, it seems: {path} holds the new text at line "
            f"{line}. Nothing was changed now"
        )
    start, end = _only(places, text, path, old)
    put = _with_endings_of(text, (start, end), new)
    context.files.write_text(path, text[:start] + put + text[end:])
    return f"edited {path} at line {_line(text, start)}: {_lines(text[start:end])} replaced by {_lines(put)}"


def _read(files: WorkspaceFiles, path: str) -> str:
    with files.open_file(path) as file:
        data = file.read(MAX_EDITED_BYTES + 1)
    kind = not_text(data)
    if kind is not None:
        raise ToolFailure(f"{path!r} is {kind}; it can't be edited as text")
    if len(data) > MAX_EDITED_BYTES:
        raise ToolFailure(f"{path!r} is larger than {MAX_EDITED_BYTES // 1_000_000} MB; edit it with a command")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ToolFailure(
            f"{path!r} is not UTF-8 text (byte {error.start}); an edit would spoil it. Use a command that knows "
            "its encoding"
        ) from error


def _places(text: str, wanted: str) -> list[Span]:
    """Everywhere that the wanted text is, overlaps too. A line break in it stands for either kind, unless
    it says which."""
    if not wanted:
        return []
    parts = [wanted] if "\r" in wanted else wanted.split("\n")
    pattern = re.compile("(?=(" + "\r?\n".join(map(re.escape, parts)) + "))")
    by_end: dict[int, Span] = {}
    for match in pattern.finditer(text):
        # one that begins with a line break is found before its \r and again after it
        by_end.setdefault(match.end(1), match.span(1))
    return list(by_end.values())


def _only(places: list[Span], text: str, path: str, old: str) -> Span:
    if len(places) > 1:
        lines = ", ".join(str(_line(text, start)) for start, _ in places[:NAMED_PLACES])
        more = ", …" if len(places) > NAMED_PLACES else ""
        raise ToolFailure(
            f"{path!r} holds this text {len(places)} times, at lines {lines}{more}; take in more of the lines "
            "around it, so that it is there once. Nothing was changed"
        )
    if places:
        return places[0]
    near = near_misses(text, old)
    raise ToolFailure(
        f"{path!r} does not hold this text; it must be there exactly, whitespace included. Nothing was changed. "
        + (f"The nearest, with line numbers:\n{near}" if near else "Nothing in it is like it")
    )


def _line_of_earlier_attempt(text: str, places: list[Span], new: str) -> int | None:
    """The line of the new text, if all that is left of the old is part of it: it was put there already."""
    done = _places(text, new)
    if done and all(any(s <= start and end <= e for s, e in done) for start, end in places):
        return _line(text, done[0][0])
    return None


def _with_endings_of(text: str, place: Span, new: str) -> str:
    """The new text with the line breaks of what it replaces, or else of most of the file."""
    there = text[place[0] : place[1]]
    judged = there if "\n" in there else text
    windows = judged.count("\r\n")
    return re.sub(r"(?<!\r)\n", "\r\n", new) if windows > judged.count("\n") - windows else new


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _lines(piece: str) -> str:
    count = len(piece.splitlines())
    return f"{count} line{'' if count == 1 else 's'}"
