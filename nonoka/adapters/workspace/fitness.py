"""Which directories can't be a workspace: a snapshot of them would be one of everything this user has."""

from __future__ import annotations

from pathlib import Path

from nonoka.errors import UsageError


def refuse_unfit(workspace: Path) -> None:
    """Raise UsageError for the root, the home directory, and what is above it."""
    resolved, home = workspace.resolve(), Path.home().resolve()
    if resolved == Path(resolved.anchor):
        what = "the root of the file system"
    elif resolved == home:
        what = "your home directory"
    elif resolved in home.parents:
        what = "above your home directory"
    else:
        return
    raise UsageError(
        f"{str(resolved)!r} is {what}: snapshots of it would hold everything in it; "
        "work in a directory of the project's own, or force it with --any-workspace (NONOKA_ANY_WORKSPACE=1)"
    )
