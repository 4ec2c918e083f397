"""What a snapshot knows beside its files: kept as JSON in its commit, beside the tree of the files."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field

from nonoka.adapters.workspace.ignore_rules import IgnoreRules


@dataclass(frozen=True)
class LeftOut:
    """A file that is not in the snapshot though nothing ignores it, and how it looked."""

    path: str
    why: str
    size: int = -1
    mtime_ns: int = -1


@dataclass(frozen=True)
class RepositoryState:
    """The user's repository: HEAD, refs, a digest of what is staged, and what is under way.

    ``nested`` are the repositories inside the workspace, each with a digest of its own state.
    """

    head: str | None
    refs: dict[str, str] = field(default_factory=dict)
    staged: str = ""
    under_way: list[str] = field(default_factory=list)
    nested: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Note:
    """Paths are text with surrogate escapes. ``directories`` have no file in the snapshot."""

    prefix: str
    directories: list[str]
    left_out: list[LeftOut]
    rules: IgnoreRules
    repository: RepositoryState

    def to_json(self) -> bytes:
        """The same note gives the same bytes, so that git keeps it once."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":")).encode()


def from_json(content: bytes) -> Note:
    """The note that ``to_json`` wrote."""
    raw = json.loads(content)
    rules = raw["rules"]
    return Note(
        raw["prefix"],
        raw["directories"],
        [LeftOut(**entry) for entry in raw["left_out"]],
        IgnoreRules(rules["everywhere"], rules["info"], tuple((where, text) for where, text in rules["outer"])),
        RepositoryState(**raw["repository"]),
    )
