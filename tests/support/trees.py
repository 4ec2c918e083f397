"""What is in a directory, to the byte: names, modes, contents, links."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

OUTSIDE = (b".git", b".nonoka")
Tree = dict[bytes, tuple[object, ...]]


def tree_of(directory: Path, *, without: tuple[bytes, ...] = OUTSIDE) -> Tree:
    """Each path with its kind, whether it is executable, and its content."""
    root = os.fsencode(directory)
    found: Tree = {}
    for above, directories, files in os.walk(root):
        directories[:] = [name for name in directories if name not in without]
        for name in [*directories, *(name for name in files if name not in without)]:
            path = os.path.join(above, name)
            found[os.path.relpath(path, root)] = _entry(path)
    return found


def _entry(path: bytes) -> tuple[object, ...]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return ("link", os.readlink(path))
    if stat.S_ISDIR(mode):
        return ("directory",)
    if stat.S_ISREG(mode):
        return ("file", bool(mode & 0o100), Path(os.fsdecode(path)).read_bytes())
    return ("special",)


def everything_of(git_dir: Path) -> dict[str, bytes]:
    """Every file of a git directory: index, refs, reflogs, stash, config, hooks, objects."""
    return {str(file): file.read_bytes() for file in sorted(git_dir.rglob("*")) if file.is_file()}


def git(directory: Path, *args: str, check: bool = True) -> str:
    """Git as a user has it, with a name of its own; without locks that it could do without."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
    }
    who = [
        "-c",
        "user.name=Someone",
        "-c",
        "user.email=someone@example.org",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "core.fsmonitor=false",
    ]
    done = subprocess.run(
        ["git", *who, *args], cwd=directory, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    if check and done.returncode:
        raise AssertionError(f"git {args}: {done.stderr}")
    return done.stdout
