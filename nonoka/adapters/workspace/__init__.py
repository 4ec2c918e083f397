"""The workspace ports over git: snapshots and worktrees; and who else is at work in a directory."""

from __future__ import annotations

from nonoka.adapters.workspace.snapshots import GitSnapshots
from nonoka.adapters.workspace.use import MarkedUse
from nonoka.adapters.workspace.worktrees import GitWorktrees

__all__ = ["GitSnapshots", "GitWorktrees", "MarkedUse"]
