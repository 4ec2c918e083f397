"""Reads the plan file that a command names. The commands of plans call this."""

from __future__ import annotations

import sys
from pathlib import Path

from nonoka.agents.plan_file import plan_from_text
from nonoka.agents.plan_tools import agent_complaints, argument_schemas, plan_tools
from nonoka.agents.registry import Registry, normalized
from nonoka.errors import UsageError
from nonoka.records.plan import Plan
from nonoka.settings import Settings


def text_of(file: str) -> str:
    """What the file holds, stdin for ``-``. Raises UsageError where it can't be read, or is no UTF-8."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name_of(file)}:{line}: not UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the plan {file!r} can't be read: {why}") from None


def checked_plan(file: str, settings: Settings) -> Plan:
    """The plan in the file, which can be run here with the settings' agent. Raises PlanInvalid, UsageError."""
    registry = Registry()
    name = settings.agent
    agent = registry.load(normalized(name, Path.cwd()) if ":" in name else name)
    schemas = argument_schemas(plan_tools(agent))
    return plan_from_text(text_of(file), name_of(file), schemas, agent_complaints(registry))


def name_of(file: str) -> str:
    """What errors call the file."""
    return "stdin" if file == "-" else file
