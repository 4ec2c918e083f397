"""Where the whole of a result is kept that is too large for the conversation."""

from __future__ import annotations

from typing import Protocol


class Artifacts(Protocol):
    """Files beside the store."""

    def keep(self, session_id: str, name: str, text: str) -> str:
        """The text is kept under a name of its session; returns the handle to read it by."""
