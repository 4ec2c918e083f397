"""Writes the small objects and refs of a private repository: no process is needed for a few bytes.

The formats are git's loose objects and loose refs; whatever reads them is git itself.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def write_object(git_dir: Path, kind: str, content: bytes) -> str:
    """The object is in the repository and its content on the disk; returns its id.

    Its name is there with the ref that is written later, as with the objects that git writes.
    """
    whole = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    directory = git_dir / "objects" / name[:2]
    if not (directory / name[2:]).exists():
        directory.mkdir(exist_ok=True)
        # a name that git gives to objects it has begun: it prunes what a crash leaves
        _replace(directory / name[2:], zlib.compress(whole, 1), 0o444, directory / f"tmp_obj_{name[2:]}")
    return name


def write_ref(git_dir: Path, ref: str, target: str) -> None:
    """The ref has this value, durably."""
    path = git_dir / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_durably(path, f"{target}\n".encode(), beside=git_dir / "ref-being-written")


def replace_durably(path: Path, content: bytes, beside: Path | None = None) -> None:
    """The file has this content, or, whatever happens meanwhile, the one it had."""
    _replace(path, content, 0o600, beside or path.with_name(f".{path.name}.begun"))
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """The names in it are on the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(path: Path, content: bytes, mode: int, beside: Path) -> None:
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)
