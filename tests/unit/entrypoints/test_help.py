"""Every command says what it is for, and docs/cli.md names it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nonoka.entrypoints.cli.main import nonoka
from nonoka.records.runtime import RuntimeLimits

DOCS = Path(__file__).parents[3] / "docs" / "cli.md"


def commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, info_name=name)
    for called in group.list_commands(context):
        command = group.get_command(context, called)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {called}")
        else:
            yield f"{name} {called}", command


EVERY = dict(commands(nonoka, "nonoka"))


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_help_and_a_place_in_the_docs(name: str) -> None:
    assert EVERY[name].help
    assert EVERY[name].get_short_help_str(limit=200).endswith(".")
    assert f"### {name}\n" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EVERY)
def test_every_option_has_help_and_can_be_told_apart(name: str) -> None:
    options = [p for p in EVERY[name].params if isinstance(p, click.Option)]
    assert all(option.help for option in options)
    written = [flag for option in options for flag in option.opts]
    assert len(written) == len(set(written))


@pytest.mark.parametrize("name", ["nonoka run", "nonoka enqueue"])
def test_every_limit_is_an_option_of_what_makes_sessions(name: str) -> None:
    assert {p.name for p in EVERY[name].params} >= {"db", "cwd", "model", "agent", *RuntimeLimits.model_fields}


def test_the_version_is_answered_without_pydantic_and_asyncio() -> None:
    code = (
        "import sys; sys.argv = ['nonoka', '--version'];"
        "from nonoka.entrypoints.cli.main import main; status = main();"
        "sys.exit(status or sorted({'pydantic', 'asyncio', 'logging'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nonoka" in done.stdout
