"""The store and the models are opened in one place, and to look at the store takes no engine."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2] / "nonoka"


def imported_by(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_no_entry_point_imports_an_adapter() -> None:
    importing = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "entrypoints").rglob("*.py")
        if any(name.startswith("nonoka.adapters") for name in imported_by(file))
    ]
    assert importing == []


def test_opening_the_store_alone_loads_no_engine() -> None:
    """Which would double the time that ``sessions list`` takes."""
    code = (
        "import sys; from nonoka.app import open_store, store_exists;"
        "import nonoka.entrypoints.cli.sessions.listing;"
        "sys.exit(', '.join(m for m in sys.modules if m.startswith(('nonoka.engine', 'nonoka.agents'))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
