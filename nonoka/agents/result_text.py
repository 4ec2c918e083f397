"""What a tool returns, as text that can be stored and sent: valid UTF-8, no NUL, within a size.

A str is kept as it is. Anything else becomes JSON by the rules of ``plain_value`` (docs/tools.md lists them).
"""

from __future__ import annotations

import json

from nonoka.agents.plain_value import clean_text as clean_text
from nonoka.agents.plain_value import plain_value


def stored_text(value: object) -> str:
    """The value as text: a str as it is, else JSON. Never raises; lone surrogates and NUL become U+FFFD."""
    if isinstance(value, str):
        return clean_text(value)
    return json.dumps(plain_value(value), ensure_ascii=False, allow_nan=False)


def capped(text: str, max_bytes: int, *, note: str = "") -> tuple[str, int]:
    """The (clean) text within ``max_bytes`` of UTF-8, and how many bytes were cut from its middle (0: none).

    Head and tail are kept, whole characters only; a line between them says how much is missing and then
    ``note`` (say, how to get the rest), in which ``{head}`` stands for the number of characters before it.
    Where not even that line fits, only the head is kept.
    """
    data = text.encode()
    if len(data) <= max_bytes:
        return text, 0
    widest = len(_cut_line(len(data), note, len(text)).encode())
    room = max_bytes - widest
    if room < 0:
        head = data[: max(0, max_bytes)].decode(errors="ignore")
        return head, len(data) - len(head.encode())
    head = data[: room - room // 2].decode(errors="ignore")
    tail = data[len(data) - room // 2 :].decode(errors="ignore")
    cut = len(data) - len(head.encode()) - len(tail.encode())
    return head + _cut_line(cut, note, len(head)) + tail, cut


def _cut_line(cut: int, note: str, head: int) -> str:
    note = note.replace("{head}", str(head))
    return f"\n[… {cut} bytes are cut out here{'; ' + note if note else ''} …]\n"
