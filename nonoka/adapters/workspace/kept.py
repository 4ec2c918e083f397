"""Keeps a picture as a snapshot: a commit of its files and its note, under a ref of the session."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

from nonoka.adapters.workspace.git import Git
from nonoka.adapters.workspace.note import Note, from_json
from nonoka.adapters.workspace.objects import EMPTY_TREE, write_object, write_ref
from nonoka.adapters.workspace.paths import shown
from nonoka.adapters.workspace.picture import Picture
from nonoka.adapters.workspace.private_repository import PrivateRepository
from nonoka.adapters.workspace.repository_state import digest
from nonoka.errors import UnknownSnapshot, WorkspaceError
from nonoka.records.workspace import PathNote, Snapshot

REFS = "refs/nonoka"
_NAME = re.compile(r"[A-Za-z0-9-]{1,200}")
_ID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Kept:
    """A snapshot that is in the private repository. ``files`` is a name of its tree for git."""

    snapshot_id: str
    note: Note

    @property
    def files(self) -> str:
        return f"{self.snapshot_id}:files"


def keep(repo: PrivateRepository, picture: Picture, session_id: str, name: str, now_ms: int) -> Snapshot:
    """The picture is a snapshot under this name, durably. Raises WorkspaceError for a name that can't be."""
    for part in (session_id, name):
        if not _NAME.fullmatch(part):
            raise WorkspaceError(f"a snapshot can't be kept as {part!r}: use letters, digits and '-' only")
    note = write_object(repo.git_dir, "blob", picture.note.to_json())
    if picture.tree == EMPTY_TREE:
        write_object(repo.git_dir, "tree", b"")  # git knows it without having it; a check of the repository asks
    entries = b"40000 files\0" + bytes.fromhex(picture.tree) + b"100644 note\0" + bytes.fromhex(note)
    tree = write_object(repo.git_dir, "tree", entries)
    message = json.dumps({"session": session_id, "name": name, "at_ms": now_ms})
    who = f"nonoka <nonoka@localhost> {now_ms // 1000} +0000"
    commit = write_object(
        repo.git_dir, "commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\n{message}\n".encode()
    )
    write_ref(repo.git_dir, f"{REFS}/{session_id}/{name}", commit)
    return Snapshot(snapshot_id=commit, repository=told(picture.note, commit), left_out=left_out(picture.note))


def find(git: Git, snapshot_id: str) -> Kept:
    """The snapshot of this id. Raises UnknownSnapshot."""
    if not _ID.fullmatch(snapshot_id):
        raise UnknownSnapshot(snapshot_id)
    said = git.run("cat-file", "--batch", given=f"{snapshot_id}:note\n".encode())
    first, _, rest = said.partition(b"\n")
    if len(first.split()) != 3 or first.split()[1] != b"blob":
        raise UnknownSnapshot(snapshot_id)
    return Kept(snapshot_id, from_json(rest[: int(first.split()[2])]))


def told(note: Note, snapshot_id: str) -> str | None:
    """What ``Snapshot.repository`` is: a digest of the state, and where the whole of it is kept."""
    short = digest(note.repository)
    return f"{short}@{snapshot_id}" if short else None


def left_out(note: Note) -> tuple[PathNote, ...]:
    """The files that are not in it, as they are told."""
    return tuple(PathNote(path=shown(os.fsencode(entry.path)), why=entry.why) for entry in note.left_out)
