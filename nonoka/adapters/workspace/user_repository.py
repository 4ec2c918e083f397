"""Finds the user's own git repository around a workspace, and reads its state from its files. Never writes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")


@dataclass(frozen=True)
class UserRepository:
    """Where it lies. ``git_dir`` is that of a worktree or submodule, where it is one."""

    top: Path
    git_dir: Path
    common_dir: Path


def find_repository(workspace: Path) -> UserRepository | None:
    """The repository that git would use in this directory, None where there is none."""
    for directory in (workspace, *workspace.parents):
        git_dir = _git_dir(directory)
        if git_dir is not None:
            common = _common_dir(git_dir)
            if _is_repository(git_dir, common):
                return UserRepository(directory, git_dir, common)
    return None


def head(repository: UserRepository) -> str:
    """What HEAD says: ``ref: refs/heads/main``, or a commit."""
    return _text(repository.git_dir / "HEAD")


def refs(repository: UserRepository) -> dict[str, str]:
    """Every ref by its full name, loose ones over packed ones; the stash is among them."""
    found = _packed(_text(repository.common_dir / "packed-refs"))
    for base in {repository.common_dir, repository.git_dir}:
        for file in sorted((base / "refs").rglob("*")):
            if file.is_file() and not file.name.endswith(".lock"):
                found[file.relative_to(base).as_posix()] = _text(file)
        table = _text(base / "reftable" / "tables.list")
        if table:
            found[f"reftable of {base.name}"] = table
    return found


def under_way(repository: UserRepository) -> list[str]:
    """What of merges, rebases and the like has begun and not ended."""
    return [name for name in _UNDER_WAY if (repository.git_dir / name).exists()]


def index_checksum(repository: UserRepository) -> str:
    """The checksum at the end of the index, "" where there is none."""
    try:
        with (repository.git_dir / "index").open("rb") as file:
            file.seek(-20, 2)
            end = file.read()
            if any(end):
                return end.hex()
            file.seek(0)  # index.skipHash: git wrote zeros in place of the checksum
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _git_dir(directory: Path) -> Path | None:
    dot = directory / ".git"
    if dot.is_dir():
        return dot
    said = _text(dot)
    return (directory / said.removeprefix("gitdir: ")).resolve() if said.startswith("gitdir: ") else None


def _common_dir(git_dir: Path) -> Path:
    said = _text(git_dir / "commondir")
    return (git_dir / said).resolve() if said else git_dir


def _is_repository(git_dir: Path, common: Path) -> bool:
    has_head = (git_dir / "HEAD").is_file() or (git_dir / "HEAD").is_symlink()
    return has_head and (common / "objects").is_dir() and (common / "refs").is_dir()


def _packed(text: str) -> dict[str, str]:
    lines = (line.split(" ", 1) for line in text.splitlines() if line and line[0] not in "#^")
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
