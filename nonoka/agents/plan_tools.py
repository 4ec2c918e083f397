"""Which tools the steps of a plan may name: the built-in ones, and those of the session's agent."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from nonoka.agents.agent import Agent
from nonoka.agents.builtin import default_agent
from nonoka.agents.registry import Registry
from nonoka.agents.tool import Tool
from nonoka.decisions.plan_check import AgentComplaint
from nonoka.errors import AgentUnloadable
from nonoka.records.base import JsonObject


def plan_tools(agent: Agent) -> dict[str, Tool]:
    """The tools by name; one of the agent's own hides a built-in one of its name."""
    return {**_built_in(), **{tool.name: tool for tool in agent.tools}}


@functools.cache
def _built_in() -> dict[str, Tool]:
    return {tool.name: tool for tool in default_agent().tools}


def argument_schemas(tools: Mapping[str, Tool]) -> dict[str, JsonObject]:
    """What ``check_plan`` knows of the tools."""
    return {name: tool.arguments.schema for name, tool in tools.items()}


def agent_complaints(registry: Registry) -> AgentComplaint:
    """Why an agent that a step names can't be loaded in this process."""

    def complaint(name: str) -> str | None:
        try:
            registry.load(name)
        except AgentUnloadable as error:
            return str(error)
        return None

    return complaint
