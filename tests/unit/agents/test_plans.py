"""A call that can't run is answered in words to act on."""

from __future__ import annotations

from typing import Any

import pytest

from nonoka.agents.agent import Agent
from nonoka.agents.builtin import default_agent
from nonoka.agents.plans import plan_call
from nonoka.records.tool import CallResult

AGENT = default_agent()


def answered(name: str, args: Any) -> CallResult:
    plan = plan_call(AGENT, name, args)
    assert isinstance(plan, CallResult)
    return plan


def test_a_call_that_fits_is_a_tool_and_its_values() -> None:
    plan = plan_call(AGENT, "read_file", {"path": "x", "limit": 3})
    assert isinstance(plan, tuple)
    assert plan == (AGENT.tool("read_file"), {"path": "x", "offset": 1, "limit": 3})


def test_an_unknown_tool_is_told_which_there_are() -> None:
    result = answered("readfile", {})
    assert result.error_type == "unknown_tool"
    assert "did you mean 'read_file'" in result.content
    assert "read_file, write_file, edit_file, list_files" in result.content


def test_an_agent_without_tools_says_that_there_are_none() -> None:
    plan = plan_call(Agent("bare"), "read_file", {})
    assert isinstance(plan, CallResult)
    assert plan.content == "there is no tool 'read_file'. The tools are: none"


@pytest.mark.parametrize("args", ["{", "", "[1]", {"limit": 2}, {"path": 3}, {"path": "x", "more": 1}])
def test_arguments_that_do_not_fit_are_said_so(args: Any) -> None:
    result = answered("read_file", args)
    assert result.error_type == "invalid_arguments"
    assert result.content.startswith("read_file: the arguments ")


def test_any_name_and_any_argument_get_a_short_answer_that_can_be_stored() -> None:
    for name in ("\ud83d\0", "x" * 1_000_000, ""):
        result = answered(name, {})
        assert len(result.content.encode()) < 4_200
        assert "\0" not in result.content
    many: dict[str, Any] = {f"k{n}\ud83d": "v" * 1000 for n in range(1000)}
    assert len(answered("read_file", many).content.encode()) <= 4_096
