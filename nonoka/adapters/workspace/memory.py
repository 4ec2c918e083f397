"""What a private repository remembers from one look at its workspace to the next. All of it can be found again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Memory:
    """``rules`` names the ignore rules and the user's index that ``forced`` was found by.

    ``forced`` are files that the user's repository tracks although a rule ignores them; ``absent`` those of
    them that aren't in the private index. ``nested`` are repositories inside. ``staged`` see Staged.
    ``tree`` is what the private index was written as when its file was ``index`` (inode, size, mtime).
    """

    top: str = ""
    rules: str = ""
    forced: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    staged: dict[str, str] = field(default_factory=dict)
    tree: str = ""
    index: list[int] = field(default_factory=list)


def recall(git_dir: Path) -> Memory:
    """What was remembered last; nothing where that can't be read."""
    try:
        return Memory(**json.loads((git_dir / "memory.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return Memory()


def remember(git_dir: Path, memory: Memory) -> None:
    """It is there for the next look. Lost in a power cut, it costs that look a reading of every file."""
    if asdict(memory) != asdict(recall(git_dir)):
        beside = git_dir / "memory-being-written"
        beside.write_bytes(json.dumps(asdict(memory)).encode())
        beside.rename(git_dir / "memory.json")


def forget_tree(git_dir: Path) -> None:
    """The tree is written anew at the next look: a collection may take it away."""
    memory = recall(git_dir)
    memory.tree = ""
    remember(git_dir, memory)
