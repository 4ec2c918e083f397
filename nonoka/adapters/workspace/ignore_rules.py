"""The rules that decide what is ignored and don't lie in the workspace itself: kept with each snapshot."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nonoka.adapters.workspace.git import Git, clean_environment
from nonoka.adapters.workspace.stopping import Stop
from nonoka.adapters.workspace.user_repository import UserRepository


@dataclass(frozen=True)
class IgnoreRules:
    """The texts of the user's global excludes, of ``.git/info/exclude``, and of ``.gitignore`` files above.

    ``outer`` are (directory relative to the work tree's root, text); "" is the root.
    """

    everywhere: str
    info: str
    outer: tuple[tuple[str, str], ...] = ()


def read_rules(workspace: Path, repository: UserRepository | None, top: Path, stop: Stop) -> IgnoreRules:
    """The rules as they are now."""
    info = _text(repository.common_dir / "info" / "exclude") if repository and repository.top == top else ""
    return IgnoreRules(_text(_global_excludes(workspace, stop)), info, tuple(_outer(workspace, top)))


def _outer(workspace: Path, top: Path) -> list[tuple[str, str]]:
    inner = workspace.relative_to(top).parts
    found = []
    for depth in range(len(inner)):
        directory = top.joinpath(*inner[:depth])
        if (directory / ".gitignore").is_file():
            found.append(("/".join(inner[:depth]), _text(directory / ".gitignore")))
    return found


def _global_excludes(workspace: Path, stop: Stop) -> Path | None:
    """The file that ``core.excludesFile`` names for this user and directory, else git's default place."""
    git = Git(workspace, clean_environment(), stop)
    # whose the repository is doesn't matter for a setting that names a file of patterns
    question = ("config", "--type=path", "--get", "core.excludesFile")
    said = git.run(*question, ok=(0, 1, 128), options=["safe.directory=*"]).rstrip(b"\n")
    if said:
        return workspace / os.fsdecode(said)
    base = os.environ.get("XDG_CONFIG_HOME") or (
        os.path.join(os.environ["HOME"], ".config") if "HOME" in os.environ else ""
    )
    return Path(base, "git", "ignore") if base else None


def _text(path: Path | None) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape") if path else ""
    except OSError:
        return ""
