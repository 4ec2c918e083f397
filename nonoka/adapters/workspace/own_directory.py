"""The workspace's ``.nonoka/``: private, and ignored by git whoever made it."""

from __future__ import annotations

from pathlib import Path


def own_directory(workspace: Path) -> Path:
    """It is there. Raises OSError."""
    directory = workspace / ".nonoka"
    directory.mkdir(mode=0o700, exist_ok=True)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return directory
