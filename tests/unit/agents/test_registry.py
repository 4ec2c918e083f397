"""Agents are found by the name that a session stores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nonoka.agents.agent import Agent
from nonoka.agents.registry import Registry, load_agent, normalized
from nonoka.errors import AgentUnloadable, UsageError

SOURCE = """
from __future__ import annotations
from nonoka.agents.agent import Agent
from nonoka.agents.tool import tool

@tool
def double(n: int) -> int:
    return 2 * n

bot = Agent("bot", "{words}", tools=[double])
other = Agent("other")
number = 3
"""


def write(path: Path, words: str = "hello", *, at: int | None = None) -> Path:
    path.write_text(SOURCE.replace("{words}", words))
    if at is not None:
        os.utime(path, ns=(at, at))
    return path


def unloadable(name: str) -> str:
    with pytest.raises(AgentUnloadable) as caught:
        load_agent(name)
    text = str(caught.value)
    assert "\n" not in text
    assert repr(name) in text
    return text


def test_the_default_agent_is_always_there() -> None:
    assert load_agent("default").name == "default"
    registry = Registry()
    assert registry.load("default") is registry.load("default")


def test_a_file_is_loaded_once_until_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", "hello", at=10**18)
    first = load_agent(f"{path}:bot")
    assert first.instructions == "hello"
    tool = first.tool("double")
    assert tool is not None
    assert tool(4) == 8
    assert load_agent(f"{path}:bot") is first
    # the same size, within the same second: Python's own cache would not see it
    write(path, "HELLO", at=10**18 + 1)
    assert load_agent(f"{path}:bot").instructions == "HELLO"
    assert [p.name for p in tmp_path.iterdir()] == ["mine.py"]


def test_what_lies_beside_a_file_can_be_imported_and_is_not_mixed_up(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nonoka_test_words.py").write_text(f"WORDS = 'from {name}'\n")
        (tmp_path / name / "mine.py").write_text(
            "from nonoka_test_words import WORDS\n"
            "from nonoka.agents.agent import Agent\n"
            "bot = Agent('bot', WORDS)\n"
        )
    before = list(sys.path)
    assert load_agent(f"{tmp_path}/one/mine.py:bot").instructions == "from one"
    assert load_agent(f"{tmp_path}/two/mine.py:bot").instructions == "from two"
    assert sys.path == before


def test_a_module_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "nonoka_test_module.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_agent("nonoka_test_module:bot").name == "bot"
    assert "its agents: 'bot', 'other'" in unloadable("nonoka_test_module:nobody")


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py")
    assert "can't be read: No such file" in unloadable(f"{tmp_path}/none.py:bot")
    assert "its agents: 'bot', 'other'" in unloadable(f"{path}:bott")
    assert "is not an Agent, it is a int" in unloadable(f"{path}:number")
    assert "there is no module 'nonoka_no_such'" in unloadable("nonoka_no_such:bot")
    assert "there is no module 'nonoka_no_such'" in unloadable("nonoka_no_such.inner:bot")
    for name in ("mine", "mine.py", ":bot", "mine:", "mine:not a name", ""):
        assert "name it MODULE:NAME, FILE.py:NAME" in unloadable(name)
    path.write_bytes(b"\xff")
    assert "SyntaxError" in unloadable(f"{path}:bot")
    assert "IsADirectoryError" in unloadable(f"{tmp_path}/:bot")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\nraise ValueError('first\\nsecond')\n", "ValueError: first second ({path}:2)"),
        (
            "\n\nimport nonoka_no_such_lib\n",
            "ModuleNotFoundError: No module named 'nonoka_no_such_lib' ({path}:3)",
        ),
        ("import sys\nsys.exit('usage: …')\n", "SystemExit: usage: … ({path}:2)"),
        ("x = (\n", "({path}:1)"),
        ("import json\njson.loads('{')\n", "({path}:2)"),
        ("from nonoka.agents.tool import tool\n@tool\ndef f(*a): ...\n", "name each argument ({path}:2)"),
        ("", "its agents: none"),
    ],
)
def test_a_file_that_fails_names_error_and_line_and_can_be_mended(tmp_path: Path, source: str, said: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(source)
    assert said.replace("{path}", str(path)) in unloadable(f"{path}:bot")
    write(path, at=10**18)
    assert load_agent(f"{path}:bot").name == "bot"


def test_a_stored_name_means_the_same_from_everywhere(tmp_path: Path) -> None:
    assert normalized("default", tmp_path) == "default"
    assert normalized("package.module:bot", tmp_path) == "package.module:bot"
    assert normalized("agents/../mine.py:bot", tmp_path) == f"{tmp_path}/mine.py:bot"
    assert normalized("/a/b.py:bot", tmp_path) == "/a/b.py:bot"
    with pytest.raises(AgentUnloadable):
        normalized("nothing", tmp_path)


def test_an_agent_of_the_program_itself_can_be_registered(tmp_path: Path) -> None:
    registry = Registry()
    mine = Agent("mine")
    assert registry.register(mine) == "mine"
    assert registry.load("mine") is mine
    for name in ("default", "a:b"):
        with pytest.raises(UsageError, match="can't be registered"):
            registry.register(Agent(name))
    with pytest.raises(AgentUnloadable):
        registry.load("theirs")
    path = write(tmp_path / "mine.py")
    assert registry.load(f"{path}:bot").name == "bot"


def test_agents_are_light_to_import_until_a_model_is_told_of_them() -> None:
    code = (
        "import sys, nonoka.agents.agent, nonoka.agents.registry as r\n"
        "agent = r.load_agent('default')\n"
        "heavy = {'docstring_parser', 'pydantic_ai', 'openai', 'dramatiq', 'aiosqlite', 'yaml', 'rich', 'httpx'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "agent.specs\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[]", "['docstring_parser']"]
