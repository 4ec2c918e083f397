"""Decides what going back to a snapshot takes: pure, but for looks at the files that are there."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from nonoka.adapters.workspace.git import items
from nonoka.adapters.workspace.kept import Kept
from nonoka.adapters.workspace.paths import changed_at_ms, look_at, parents, shown
from nonoka.adapters.workspace.picture import Picture
from nonoka.adapters.workspace.private_repository import PrivateRepository
from nonoka.adapters.workspace.protection import ignored_now, ignored_then
from nonoka.adapters.workspace.surroundings import git_for, survey
from nonoka.records.workspace import FileChange, PathNote


@dataclass(frozen=True)
class Difference:
    """A path that differs: its mode and object in the snapshot (None: not there), and whether it is there now."""

    path: bytes
    mode: int | None
    blob: str
    there_now: bool


@dataclass
class Plan:
    """What is done, in this order: remove, remove directories, make directories, write."""

    remove: list[bytes] = field(default_factory=list)
    remove_directories: list[bytes] = field(default_factory=list)
    make_directories: list[bytes] = field(default_factory=list)
    write: list[Difference] = field(default_factory=list)
    kept: dict[bytes, str] = field(default_factory=dict)
    told_directories: set[bytes] = field(default_factory=set)

    def changes(self) -> tuple[FileChange, ...]:
        """How each file changes by it; a directory's path ends with a slash."""
        told = [FileChange(path=shown(path), kind="removed") for path in self.remove]
        told += [
            FileChange(path=shown(path) + "/", kind="removed")
            for path in self.remove_directories
            if path in self.told_directories
        ]
        told += [FileChange(path=shown(path) + "/", kind="added") for path in self.make_directories]
        told += [
            FileChange(path=shown(each.path), kind="changed" if each.there_now else "added") for each in self.write
        ]
        return tuple(sorted(told, key=lambda change: change.path))

    def notes(self) -> tuple[PathNote, ...]:
        """What is left, and why."""
        return tuple(PathNote(path=shown(path), why=why) for path, why in sorted(self.kept.items()))


def plan_rollback(repo: PrivateRepository, then: Kept, now: Picture, until_ms: int | None) -> Plan:
    """The way from the picture of now, which the private index holds, back to the snapshot."""
    root = os.fsencode(repo.workspace)
    plan = Plan(told_directories={os.fsencode(path) for path in now.note.directories})
    differences = _differences(repo, then, now)
    made_since = [each.path for each in differences if each.mode is None]
    directories = _directories_since(repo, then, now, made_since)
    protected = ignored_then(repo, then, now, [*made_since, *directories])
    protected |= ignored_now(git_for(repo, survey(repo)), root, directories)
    _keep_left_out(plan, then, now)
    _keep_protected(plan, root, differences, protected, until_ms)
    plan.remove = [path for path in made_since if path not in plan.kept]
    freed = _Freed(root, set(plan.remove), directories - protected)
    _write_back(plan, differences, freed)
    plan.make_directories = [path for path in map(os.fsencode, then.note.directories) if freed.lacks(path)]
    plan.remove_directories = sorted(filter(freed.is_emptied, directories - protected), reverse=True)
    return plan


def _keep_protected(
    plan: Plan, root: bytes, differences: list[Difference], protected: set[bytes], until_ms: int | None
) -> None:
    for each in differences:
        if each.there_now and each.path not in plan.kept and (why := _why_kept(root, each, protected, until_ms)):
            plan.kept[each.path] = why


def _write_back(plan: Plan, differences: list[Difference], freed: _Freed) -> None:
    for each in differences:
        if each.mode is None or each.path in plan.kept:
            continue
        if not each.there_now and (why := freed.obstacle(each.path)):
            plan.kept[each.path] = why
        else:
            plan.write.append(each)


def _differences(repo: PrivateRepository, then: Kept, now: Picture) -> list[Difference]:
    raw = items(
        repo.git().run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", then.files, now.tree)
    )
    found = []
    for about, path in zip(raw[::2], raw[1::2], strict=True):
        mode_then, mode_now, blob, _blob_now, _status = about.removeprefix(b":").split(b" ")
        mode = int(mode_then, 8) or None
        found.append(Difference(path, mode, blob.decode(), int(mode_now, 8) != 0))
    return found


def _directories_since(repo: PrivateRepository, then: Kept, now: Picture, made_since: list[bytes]) -> set[bytes]:
    """The directories of now, above what was made since or without any file, that the snapshot doesn't know."""
    bare = [os.fsencode(path) for path in now.note.directories]
    candidates = {above for path in [*made_since, *bare] for above in parents(path)} | set(bare)
    if not candidates:
        return candidates
    known = set(items(repo.git().run("ls-tree", "-r", "-d", "-z", "--name-only", "--full-tree", then.files)))
    for path in map(os.fsencode, then.note.directories):
        known |= {path, *parents(path)}
    return candidates - known


def _keep_left_out(plan: Plan, then: Kept, now: Picture) -> None:
    """What was, or is, too large or unreadable stays; it is named unless it looks just as it did."""
    before = {entry.path: entry for entry in then.note.left_out}
    for entry in now.note.left_out:
        if before.get(entry.path) != entry:
            plan.kept[os.fsencode(entry.path)] = entry.why
    for path, entry in before.items():
        if all(path != other.path for other in now.note.left_out):
            plan.kept[os.fsencode(path)] = f"not in the snapshot: {entry.why}"


def _why_kept(root: bytes, each: Difference, protected: set[bytes], until_ms: int | None) -> str | None:
    if each.mode is None and each.path in protected:
        return "ignored when the snapshot was taken"
    found = look_at(root, each.path)
    if found is not None and until_ms is not None and changed_at_ms(found) > until_ms:
        return "changed later than the call can have changed it"
    return None


class _Freed:
    """What will be in the way once the removals are done."""

    def __init__(self, root: bytes, removed: set[bytes], directories: set[bytes]) -> None:
        self._root, self._removed, self._directories = root, removed, directories

    def obstacle(self, path: bytes) -> str | None:
        """Why nothing can be written at this path where the snapshot has a file and the picture has none."""
        blocked = self._blocked_above(path)
        if blocked is not None:
            return f"{shown(blocked)} is no directory now, and stays" if blocked else None
        found = look_at(self._root, path)
        if found is None or path in self._removed:
            return None
        if stat.S_ISDIR(found.st_mode):
            return None if self.is_emptied(path) else "a directory with files that stay is in its place"
        if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
            return "ignored now"
        return "a pipe, socket or device is in its place"

    def lacks(self, path: bytes) -> bool:
        """Whether a directory has to be, and can be, made here."""
        blocked = self._blocked_above(path)
        if blocked is not None:
            return not blocked
        found = look_at(self._root, path)
        return found is None or path in self._removed

    def is_emptied(self, path: bytes) -> bool:
        """Whether nothing will be left in a directory that was made since."""
        if path not in self._directories:
            return False
        try:
            with os.scandir(os.path.join(self._root, path)) as entries:
                inner = [(path + b"/" + entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            return False
        return all(self.is_emptied(name) if is_dir else name in self._removed for name, is_dir in inner)

    def _blocked_above(self, path: bytes) -> bytes | None:
        """What above is no directory and stays; b"" where it is free: nothing is there, or it is removed."""
        for above in parents(path):
            found = look_at(self._root, above)
            if found is None or above in self._removed:
                return b""
            if not stat.S_ISDIR(found.st_mode):
                return above
        return None
