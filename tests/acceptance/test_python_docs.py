"""The Python in docs/python.md and docs/tools.md runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.testing.test_types import blocks

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in ("python.md", "tools.md")
    for number, block in enumerate(blocks(DOCS / page))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_page_runs(tmp_path: Path, block: str) -> None:
    """Tests by pytest, everything else as a program; the one that asks a model gets a scripted one."""
    (tmp_path / "script.yaml").write_text("- {text: Twelve days.}\n")
    (tmp_path / "test_block.py").write_text(block.replace("openai:gpt-4o-mini", "script:script.yaml"))
    command = ["-m", "pytest", "-q", "--rootdir", "."] if "def test_" in block else ["test_block.py"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NONOKA_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "asyncio.run" in block:
        assert done.stdout.startswith("completed Twelve days. "), done.stdout
    if "def test_" in block:
        assert f"{block.count('def test_')} passed" in done.stdout
