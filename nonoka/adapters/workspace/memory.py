"""What a private repository remembers from one look at its workspace to the next. All of it can be found again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nonoka.adapters.workspace.objects import replace_durably


@dataclass
class Memory:
    """``rules`` names the ignore rules and the user's index that ``forced`` was found by.

    ``forced`` are files that the user's repository tracks although a rule ignores them; ``absent`` those of
    them that aren't in the private index. ``nested`` are repositories inside. ``staged`` see Staged.
    """

    top: str = ""
    rules: str = ""
    forced: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)


def recall(git_dir: Path) -> Memory:
    """What was remembered last; nothing where that can't be read."""
    try:
        return Memory(**json.loads((git_dir / "memory.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return Memory()


def remember(git_dir: Path, memory: Memory) -> None:
    """It is there for the next look."""
    if asdict(memory) != asdict(recall(git_dir)):
        replace_durably(git_dir / "memory.json", json.dumps(asdict(memory)).encode())
