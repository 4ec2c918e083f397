"""The house: who may import whom, and what a start costs in imports."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import nonoka

ROOT = Path(__file__).parents[2]
HEAVY = {"pydantic_ai", "openai", "dramatiq", "redis", "yaml", "rich", "docstring_parser", "jsonschema", "regex"}


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after a statement."""
    program = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_imports_go_down_the_house_only() -> None:
    """The contracts of pyproject.toml hold."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint], capture_output=True, text=True, check=False, cwd=ROOT, timeout=100)
    assert done.returncode == 0, done.stdout


def test_importing_nonoka_loads_nothing_else() -> None:
    """Its names load on first use."""
    ours = {name for name in loaded_by("import nonoka") if name.split(".")[0] in ("nonoka", "pydantic")}
    assert ours == {"nonoka"}


@pytest.mark.parametrize(
    "statement",
    ["import nonoka.runner", "import nonoka.app", "from nonoka import Agent, tool, Runner, Plan, Step, ref"],
)
def test_the_python_face_does_not_load_the_heavy_libraries(statement: str) -> None:
    """Models, Dramatiq, YAML, rich and jsonschema are loaded where they are used."""
    assert not HEAVY & loaded_by(statement)


@pytest.mark.parametrize("arguments", [["--version"], ["sessions", "list", "--db", "none.db"]])
def test_a_look_does_not_load_the_heavy_libraries(arguments: list[str], tmp_path: Path) -> None:
    """Whoever asks only what there is waits for none of them."""
    given = [str(tmp_path / each) if each == "none.db" else each for each in arguments]
    statement = f"import sys\nfrom nonoka.entrypoints.cli.main import main\nsys.argv[1:] = {given}\nmain()"
    loaded = loaded_by(statement)
    assert "nonoka.entrypoints.cli.main" in loaded
    assert not HEAVY & loaded


def test_the_public_names_are_these() -> None:
    """A change of this list is a change of the Python face."""
    assert nonoka.__all__ == [
        "Agent",
        "Effect",
        "Happened",
        "NonokaError",
        "Plan",
        "PlanInput",
        "PlanInvalid",
        "Retry",
        "RunResult",
        "Runner",
        "RuntimeLimits",
        "Step",
        "ToolContext",
        "ToolFailure",
        "ref",
        "tool",
    ]
    for name in nonoka.__all__:
        assert getattr(nonoka, name) is not None


def test_every_module_says_what_lives_in_it() -> None:
    """Each module of the product opens with a docstring; empty package files need none."""
    bare = []
    for package in ("nonoka", "workers"):
        for file in (ROOT / package).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            if tree.body and not ast.get_docstring(tree):
                bare.append(str(file.relative_to(ROOT)))
    assert bare == []
