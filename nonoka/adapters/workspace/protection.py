"""Which paths the ignore rules of a snapshot protected, though those of now don't."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable

from nonoka.adapters.workspace.git import Git, items
from nonoka.adapters.workspace.kept import Kept
from nonoka.adapters.workspace.paths import look_at, parents
from nonoka.adapters.workspace.picture import Picture
from nonoka.adapters.workspace.private_repository import PrivateRepository
from nonoka.adapters.workspace.surroundings import excludes_file, use_rules
from nonoka.adapters.workspace.writing_out import entries


def ignored_then(repo: PrivateRepository, then: Kept, now: Picture, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the paths that were ignored when the snapshot was taken.

    A copy of the workspace that holds nothing but that time's ``.gitignore`` files is asked.
    """
    asked = list(paths)
    if not asked or _same_rules(repo, then, now):
        return set()
    copy = repo.git_dir / "then"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    try:
        use_rules(repo, then.note.rules)
        root = os.path.join(os.fsencode(copy), os.fsencode(then.note.prefix))
        _write_rules(repo, then, os.fsencode(copy), root)
        _make_directories(os.fsencode(repo.workspace), root, asked)
        return _matched(repo.git(copy, excludes_file(repo)), root, asked)
    finally:
        use_rules(repo, now.note.rules)
        shutil.rmtree(copy, ignore_errors=True)


def ignored_now(git: Git, directory: bytes, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the paths, relative to the directory, that a rule ignores, whether or not git tracks them."""
    asked = list(paths)
    return _matched(git, directory, asked) if asked else set()


def _matched(git: Git, directory: bytes, paths: list[bytes]) -> set[bytes]:
    # "./" keeps a name that begins with ":" from being taken for pathspec magic
    given = b"".join(b"./" + path + b"\0" for path in paths)
    said = git.run("-C", directory, "check-ignore", "-z", "--stdin", "--no-index", given=given, ok=(0, 1))
    return {path.removeprefix(b"./") for path in items(said)}


def _same_rules(repo: PrivateRepository, then: Kept, now: Picture) -> bool:
    if then.note.rules != now.note.rules or then.note.prefix != now.note.prefix:
        return False
    changed = items(repo.git().run("diff-tree", "-r", "-z", "--name-only", "--no-renames", then.files, now.tree))
    return not any(_is_rule_file(path) for path in changed)


def _is_rule_file(path: bytes) -> bool:
    return path.rsplit(b"/")[-1] == b".gitignore"


def _write_rules(repo: PrivateRepository, then: Kept, copy: bytes, root: bytes) -> None:
    os.makedirs(root, exist_ok=True)
    for where, text in then.note.rules.outer:
        _write(os.path.join(copy, os.fsencode(where), b".gitignore"), text.encode("utf-8", "surrogateescape"))
    for (mode, name), path in entries(repo, then.files):
        if _is_rule_file(path) and not stat.S_ISLNK(mode):
            _write(os.path.join(root, path), repo.git().run("cat-file", "blob", name))


def _make_directories(workspace: bytes, root: bytes, paths: list[bytes]) -> None:
    """A rule like ``build/`` holds for directories only: those that are asked about have to be some."""
    for path in paths:
        for above in parents(path):
            os.makedirs(os.path.join(root, above), exist_ok=True)
        found = look_at(workspace, path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            os.makedirs(os.path.join(root, path), exist_ok=True)


def _write(path: bytes, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
