"""What nonoka's types promise holds for a strict type checker that knows only the installed package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def blocks(page: Path) -> list[str]:
    """The Python on a page of the docs, block by block."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_programs_against_nonoka_are_checked_strictly(tmp_path: Path) -> None:
    """A program of its own, every example and every block of docs/python.md; also what must not pass does not."""
    files = [Path(__file__).with_name("typed_program.py"), *sorted((ROOT / "examples").glob("*.py"))]
    for number, block in enumerate(blocks(ROOT / "docs" / "python.md")):
        files.append(tmp_path / f"block_{number}.py")
        files[-1].write_text(block, encoding="utf-8")
    assert len(files) >= 8
    for file in files:
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        ROOT / ".mypy_cache/users",
    ]
    checked = subprocess.run(
        [*command, *[file.name for file in files]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
