"""Results too large for the conversation, as files beside the store."""

from __future__ import annotations

import os
from pathlib import Path


class ArtifactFiles:
    """Keeps each session's artifacts in a directory of its own, private to the user."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, session_id: str, name: str, text: str) -> str:
        """The text is in ``<directory>/<session_id>/<name>``, whole or not at all; returns that relative path."""
        folder = self._directory / session_id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".{name}.{os.getpid()}"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(folder / name)
        return f"{session_id}/{name}"
