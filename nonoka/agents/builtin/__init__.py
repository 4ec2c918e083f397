"""The agent that is there without being written, and its four tools."""

from __future__ import annotations

from nonoka.agents.agent import Agent
from nonoka.agents.builtin.command import run_command
from nonoka.agents.builtin.files import read_file, write_file
from nonoka.agents.builtin.listing import list_files

INSTRUCTIONS = """\
You work in a directory, the workspace, with the tools you are given. Paths are relative to it.

Look before you change: list and read what is there. Make the change that was asked for and no other. \
Check your work by running it where that is possible. When a tool says that it failed, read why and try \
another way. A result that begins with "interrupted" may have happened or not: look before you repeat it.

When you are done, say in a few sentences what you did and what you found, and name what is left open."""


def default_agent() -> Agent:
    """The agent named "default": it reads, writes and lists files and runs commands in its workspace."""
    return Agent("default", INSTRUCTIONS, tools=(read_file, write_file, list_files, run_command))
