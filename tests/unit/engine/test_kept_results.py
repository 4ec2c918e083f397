"""A result that is too large is kept as a whole, and says how to read on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.memory.store import MemoryStore
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.processes import LocalProcesses
from nonoka.agents.agent import Agent
from nonoka.agents.builtin.results import read_result
from nonoka.agents.registry import Registry
from nonoka.agents.tool import tool
from nonoka.decisions.turn import begin
from nonoka.engine.deciding import deciding
from nonoka.engine.execution import Execution
from nonoka.engine.ports import Ports
from nonoka.records.base import JsonObject
from nonoka.records.tool import CallResult, CallState
from tests.support.manual_clock import ManualClock
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees
from tests.support.sessions import new_session

WHOLE = "".join(f"line {n} é\n" for n in range(10_000))


@tool(effect="read_only")
def much() -> str:
    """A lot."""
    return WHOLE


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    clock = ManualClock()
    return Ports(
        store=MemoryStore(clock),
        broker=SilentBroker(),
        clock=clock,
        models=ModelCatalog({}),
        processes=LocalProcesses(tmp_path, clock),
        artifacts=ArtifactFiles(tmp_path / "artifacts"),
        snapshots=PlayedSnapshots(),
        workspace_use=PlayedUse(),
        worktrees=PlayedWorktrees(),
        agents=Registry(),
    )


async def ran(
    ports: Ports, agent: Agent, place: int, name: str, args: JsonObject, session: str = "s"
) -> CallResult:
    """The result of a call of that session, as the engine runs it."""
    made = await ports.store.create_session(
        new_session(ports.clock, session_id=f"{session}{place}"), claim_by="w", decide=deciding(begin)
    )
    assert made is not None
    found = agent.tool(name)
    assert found is not None
    execution = Execution(
        ports=ports,
        claim=made.claim.model_copy(update={"session_id": session}),
        view=made.view,
        call=CallState(
            turn=1, place=place, call_id=f"call_1_{place}", name=name, args=args, position=place, attempt=1
        ),
        agent=agent,
        tool=found,
    )
    return await execution.run(found.validated(args))


async def test_a_cut_result_names_the_call_that_reads_on(ports: Ports) -> None:
    """Following it, and the notes after each piece, gives the whole."""
    agent = Agent("a", tools=[much, read_result], max_tool_result_bytes=8_000)
    cut = await ran(ports, agent, 0, "much", {})
    assert cut.artifact == "s/call_1_0-1.txt"
    found = re.search(r"read on with read_result\(handle='([^']+)', offset=(\d+)\)", cut.content)
    assert found is not None
    handle, offset = found[1], int(found[2])
    read = cut.content.partition("\n[… ")[0]
    assert read == WHOLE[:offset]
    for place in range(1, 100):
        piece = await ran(ports, agent, place, "read_result", {"handle": handle, "offset": offset})
        assert piece.artifact is None
        read += piece.content.rpartition("\n[characters ")[0]
        offset = len(read)
        if piece.content.endswith("the end]"):
            break
    assert read == WHOLE


async def test_an_agent_without_that_tool_is_not_told_of_it(ports: Ports) -> None:
    cut = await ran(ports, Agent("a", tools=[much], max_tool_result_bytes=8_000), 0, "much", {})
    assert "the whole is kept as s/call_1_0-1.txt …]" in cut.content
    assert "read_result" not in cut.content


async def test_a_session_does_not_read_what_another_has_kept(ports: Ports) -> None:
    agent = Agent("a", tools=[much, read_result])
    kept = await ran(ports, agent, 0, "much", {})
    refused = await ran(ports, agent, 1, "read_result", {"handle": kept.artifact}, session="t")
    assert refused.error_type == "tool_failed"
    assert "is kept in this session" in refused.content
