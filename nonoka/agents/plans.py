"""What to do with a call that a model asked for: run a tool with values, or answer it at once."""

from __future__ import annotations

import difflib

from nonoka.agents.agent import Agent
from nonoka.agents.plain_value import clean_text
from nonoka.agents.result_text import capped
from nonoka.agents.tool import Tool
from nonoka.errors import ToolFailure
from nonoka.records.base import JsonObject
from nonoka.records.tool import CallResult

#: a model may send anything as a name or an argument; what it is told of that is short
ANSWER_BYTES = 4_096


def plan_call(agent: Agent, name: str, args: JsonObject | str) -> tuple[Tool, dict[str, object]] | CallResult:
    """The tool and its checked values; or the call's result, where it can't run, in words to act on."""
    tool = agent.tool(name)
    if tool is None:
        return _answer("unknown_tool", _no_such_tool(agent, name))
    try:
        return tool, tool.validated(args)
    except ToolFailure as failure:
        return _answer("invalid_arguments", str(failure))


def _no_such_tool(agent: Agent, name: str) -> str:
    known = [tool.name for tool in agent.tools]
    near = difflib.get_close_matches(name[:64], known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no tool {name[:64]!r}{guess} The tools are: {', '.join(known) or 'none'}"


def _answer(error_type: str, text: str) -> CallResult:
    return CallResult(content=capped(clean_text(text), ANSWER_BYTES)[0], error_type=error_type)
