"""Where the whole of a result is kept that is too large for the conversation."""

from __future__ import annotations

from typing import Protocol

from nonoka.records.base import Record


class Excerpt(Record):
    """A part of a kept text; ``total`` is how many characters there are in all."""

    text: str
    total: int


class Artifacts(Protocol):
    """Files beside the store."""

    def keep(self, session_id: str, name: str, text: str) -> str:
        """The text is kept under a name of its session; returns the handle to read it by."""

    def remove(self, session_id: str) -> None:
        """Nothing is kept of this session any more. It may block."""

    def kept(self) -> dict[str, int]:
        """Of which sessions anything is kept, and how much: bytes on the disk. It may block."""

    def read(self, session_id: str, handle: str, offset: int, limit: int) -> Excerpt | None:
        """At most ``limit`` characters of what this session kept, from ``offset`` (0 is the first) on.

        None where the handle names nothing of this session. Past the end the text is empty. It may block.
        """
