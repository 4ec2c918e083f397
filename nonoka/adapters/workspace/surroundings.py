"""What lies around a workspace and decides what is ignored in it: the user's repository, rules from above."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nonoka.adapters.workspace.git import Git
from nonoka.adapters.workspace.ignore_rules import IgnoreRules, read_rules
from nonoka.adapters.workspace.private_repository import PrivateRepository
from nonoka.adapters.workspace.user_repository import UserRepository, find_repository


@dataclass(frozen=True)
class Surroundings:
    """``top`` is the root of git's work tree: the repository's, so that ignore rules above the workspace hold.

    Where that repository ignores the workspace as a whole, the workspace is a root of its own.
    """

    repository: UserRepository | None
    top: Path
    prefix: str
    rules: IgnoreRules

    @property
    def tracks(self) -> UserRepository | None:
        """The repository whose tracked files are in snapshots even if they match an ignore rule."""
        return self.repository if self.repository and self.repository.top == self.top else None


def survey(repo: PrivateRepository) -> Surroundings:
    """What is around the workspace now; the private repository goes by these rules from here on."""
    workspace = repo.workspace
    repository = find_repository(workspace)
    if repository is not None:
        around = _around(repo, repository, repository.top)
        use_rules(repo, around.rules)
        if not around.prefix or not _ignored(around, repo):
            return around
    around = _around(repo, repository, workspace)
    use_rules(repo, around.rules)
    return around


def git_for(repo: PrivateRepository, around: Surroundings) -> Git:
    """Git with the private repository and these rules."""
    return repo.git(around.top, excludes_file(repo))


def use_rules(repo: PrivateRepository, rules: IgnoreRules) -> None:
    """The private repository's own rule files say what these rules say."""
    _write(excludes_file(repo), rules.everywhere)
    _write(repo.git_dir / "info" / "exclude", rules.info)


def excludes_file(repo: PrivateRepository) -> Path:
    """Where the private repository keeps its copy of the user's global excludes."""
    return repo.git_dir / "info" / "everywhere"


def _around(repo: PrivateRepository, repository: UserRepository | None, top: Path) -> Surroundings:
    inner = repo.workspace.relative_to(top).as_posix()
    rules = read_rules(repo.workspace, repository, top, repo.stop)
    return Surroundings(repository, top, "" if inner == "." else f"{inner}/", rules)


def _ignored(around: Surroundings, repo: PrivateRepository) -> bool:
    git = git_for(repo, around)
    path = b"./" + os.fsencode(around.prefix.rstrip("/"))
    top = ("-C", str(around.top))
    return bool(git.run(*top, "check-ignore", "-z", "--stdin", "--no-index", given=path + b"\0", ok=(0, 1)))


def _write(path: Path, text: str) -> None:
    content = text.encode("utf-8", "surrogateescape")
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)
