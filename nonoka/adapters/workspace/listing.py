"""Asks git what in a workspace is not in the private index, or differs from it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from nonoka.adapters.workspace.git import Git, items
from nonoka.adapters.workspace.note import LeftOut
from nonoka.adapters.workspace.objects import EMPTY_BLOB
from nonoka.adapters.workspace.paths import look_at, never_ours, only_directories, parents

#: What is ignored: by the user's rules, and our own directory, which no rule of theirs can bring in.
STANDARD = ("--exclude-standard", "--exclude=.nonoka")
_UNREADABLE = re.compile(rb"^warning: could not open directory '(.*)': (.*)$", re.MULTILINE)
#: A file of this name is put into the index, never on the disk, so that git looks into a nested repository.
_SEED = b".nonoka-is-looking"
#: More directories than this are asked for by asking for all.
_ARGUMENTS = 200
_DEPTH = 50


@dataclass
class Listing:
    """Paths relative to the workspace. ``directories`` hold nothing that a snapshot keeps.

    With ``incomplete`` there may be such directories inside those that are new.
    """

    changed: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)
    directories: list[bytes] = field(default_factory=list)
    nested: list[bytes] = field(default_factory=list)
    seeds: list[bytes] = field(default_factory=list)
    incomplete: bool = False
    unreadable: list[LeftOut] = field(default_factory=list)


def list_workspace(git: Git, root: bytes, prefix: bytes) -> Listing:
    """All that differs from the private index."""
    found = Listing()
    with git.start("diff-files", "--name-only", "-z", "--no-renames", "--relative") as differing:
        _list_new(git, root, prefix, found)
        found.changed = items(differing.finish()[0])
    if turned := [path for path in found.changed if _is_directory(root, path)]:
        take_out(git, turned)  # git lists nothing in a directory whose name the index has as a file's
        _list_new(git, root, prefix, found)
    return found


def take_out(git: Git, paths: Iterable[bytes]) -> None:
    """These are no longer in the index, whatever is on the disk."""
    git.run("update-index", "-z", "--force-remove", "--stdin", given=b"".join(path + b"\0" for path in paths))


def list_directories(git: Git, root: bytes) -> list[bytes]:
    """The directories without a file in the index, innermost ones where there is nothing but directories."""
    return _sorted_out(root, _others(git, Listing(), "--directory"))[1]


def _list_new(git: Git, root: bytes, prefix: bytes, found: Listing) -> None:
    """New files; git is made to look into nested repositories, one level after the other."""
    for _ in range(_DEPTH):
        found.unreadable.clear()
        found.new, found.directories, full, nested = _sorted_out(root, _others(git, found, "--directory"))
        if full:
            found.incomplete = True
            inner = _others(git, found, *_named(full))
            found.new += [path for path in inner if not path.endswith(b"/")]
            nested += [path.rstrip(b"/") for path in inner if path.endswith(b"/")]
            # what holds only ignored files is a directory without a file
            filled = {above for path in inner for above in parents(path)}
            found.directories += [path for path in full if path and path not in filled]
        fresh = [path for path in nested if path not in found.nested]
        if not fresh:
            return
        found.nested += fresh
        seeds = [path + b"/" + _SEED for path in fresh if os.listdir(os.path.join(root, path)) != [b".git"]]
        if not seeds:
            found.directories += fresh
            return
        found.seeds += seeds
        entries = b"".join(b"100644 %s\t%s%s\0" % (EMPTY_BLOB.encode(), prefix, seed) for seed in seeds)
        git.run("update-index", "--add", "-z", "--index-info", given=entries)


def _is_directory(root: bytes, path: bytes) -> bool:
    found = look_at(root, path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _sorted_out(root: bytes, others: list[bytes]) -> tuple[list[bytes], list[bytes], list[bytes], list[bytes]]:
    """New files; directories of nothing but directories; directories with something in them; repositories."""
    new, bare, full, nested = [], [], [], []
    for path in others:
        if never_ours(path.rstrip(b"/")):
            continue
        if not path.endswith(b"/"):
            new.append(path)
            continue
        inner = path.rstrip(b"/").removeprefix(b".") if path == b"./" else path.rstrip(b"/")
        leaves = only_directories(os.path.join(root, inner)) if inner else None
        if leaves is not None:
            bare += [os.path.relpath(leaf, root) for leaf in leaves]
        elif inner and os.path.lexists(os.path.join(root, inner, b".git")):
            nested.append(inner)
        else:
            full.append(inner)
    return new, bare, full, nested


def _others(git: Git, found: Listing, *args: str | bytes) -> list[bytes]:
    out, said = git.start("ls-files", "-z", "--others", *STANDARD, *args).finish()
    for path, why in _UNREADABLE.findall(said):
        text = os.fsdecode(path)
        found.unreadable.append(LeftOut(text, f"can't be read ({os.fsdecode(why).splitlines()[0]})"))
    return items(out)


def _named(directories: list[bytes]) -> list[str | bytes]:
    if len(directories) > _ARGUMENTS or b"" in directories:
        return []
    return ["--", *(b":(literal)" + path for path in directories)]
