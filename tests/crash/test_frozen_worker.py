"""A worker that is frozen in the middle of a call, and what becomes of it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from nonoka.adapters.processes import LocalProcesses
from nonoka.engine.running import Running
from nonoka.engine.sweeper import Sweeper
from nonoka.records.event import EventType
from nonoka.records.task import Worker
from tests.support.brokers import BROKERS, project_on
from tests.support.crash_agent import GATE
from tests.support.project import PLAIN, Project

TURNS: list[dict[str, object]] = [{"tool_calls": [{"name": "hold", "args": {}}]}, {"text": "All done."}]


async def test_a_frozen_worker_is_ended_before_its_call_runs_again(project: Project) -> None:
    """Once its lease has run out it is killed, woken or not, and the call has its result once."""
    session_id = await project.create(TURNS)
    with project.worker(PLAIN) as frozen:
        await project.until(lambda: len(project.oracle.ran()) == 1, "the call runs")
        os.kill(frozen.pid, signal.SIGSTOP)
        # Thirty seconds later, without waiting for them.
        project.change("UPDATE tasks SET lease_expires_at = 0 WHERE status = 'running'")
        with project.worker(PLAIN) as second:
            await project.until(lambda: len(project.oracle.ran()) == 2, "the call runs again")
            assert frozen.wait(10) == -signal.SIGKILL
            (project.directory / GATE).touch()
            await project.all_completed()
            assert second.poll() is None
    ran = project.oracle.ran(session_id)
    assert [(one.tool_call_id, one.attempt) for one in ran] == [("call_1_0", 1), ("call_1_0", 2)]
    assert [one.pid for one in ran] == [frozen.pid, second.pid]
    detail = await project.detail(session_id)
    assert [entry.content for entry in detail.state.memory_entries[2:]] == ["held", "All done."]


async def test_somebodys_program_is_not_ended_when_it_freezes(project: Project) -> None:
    """A Runner inside it holds a call: the task waits, the sweep says for whom, and the program goes on."""
    embedded = (
        "import asyncio, sys; from nonoka import Runner\n"
        "async def main():\n"
        "    async with Runner() as runner: await runner.resume(sys.argv[1])\n"
        "asyncio.run(main())"
    )
    session_id = await project.create(TURNS)
    with project.worker(["-c", embedded, session_id]) as program:
        await project.until(lambda: len(project.oracle.ran()) == 1, "the call runs")
        os.kill(program.pid, signal.SIGSTOP)
        project.change("UPDATE tasks SET lease_expires_at = 0 WHERE status = 'running'")
        async with project.store() as store:
            ports = project.ports(store)
            report = await Sweeper(ports, "none", Running()).sweep()
        assert [waiting.task_id for waiting in report.waiting] == [f"{session_id}/turn:1"]
        assert str(program.pid) in report.waiting[0].why
        assert report.released == ()
        os.kill(program.pid, signal.SIGCONT)
        (project.directory / GATE).touch()
        await project.all_completed()
        assert program.wait(30) == 0
    assert len(project.oracle.ran(session_id)) == 1


class Unending(LocalProcesses):
    """A machine where a frozen worker is taken for ended, and isn't."""

    async def end_owner(self, worker: Worker) -> bool:
        """It is left as it is."""
        return True


@pytest.mark.parametrize("broker", BROKERS)
async def test_a_worker_that_was_frozen_for_three_leases_cannot_commit(tmp_path: Path, broker: str) -> None:
    """Should it wake at all: its call's result is refused, an event says that it lost its claim, and the call
    has its one result from the attempt after it.
    """
    with project_on(broker, tmp_path) as project:
        session_id = await project.create(TURNS)
        with project.worker(PLAIN) as frozen:
            await project.until(lambda: len(project.oracle.ran()) == 1, "the call runs")
            os.kill(frozen.pid, signal.SIGSTOP)
            project.change("UPDATE tasks SET lease_expires_at = lease_expires_at - 90000 WHERE status = 'running'")
            async with project.store() as store:
                ports = project.ports(store)
                processes = Unending(project.db.parent / "workers", ports.clock)
                report = await Sweeper(replace(ports, processes=processes), "other", Running()).sweep()
            assert report.released == (f"{session_id}/turn:1",)
            (project.directory / GATE).touch()
            os.kill(frozen.pid, signal.SIGCONT)
            await project.all_completed()
            assert frozen.poll() is None
    assert "claim_lost" in project.log.read_text()
    detail = await project.detail(session_id)
    released = [event.data for event in detail.events if event.type is EventType.TURN_RELEASED]
    assert [(data["why"], data["attempt"]) for data in released] == [("worker_lost", 1)]
    finished = [event.data["attempt"] for event in detail.events if event.type is EventType.CALL_FINISHED]
    assert finished == [2]
    assert [(one.tool_call_id, one.attempt) for one in project.oracle.ran()] == [("call_1_0", 1), ("call_1_0", 2)]
    assert [entry.content for entry in detail.state.memory_entries[2:]] == ["held", "All done."]


@pytest.mark.parametrize("broker", BROKERS)
async def test_a_frozen_worker_in_a_workspace_call_is_ended_and_its_files_go_back_first(
    tmp_path: Path, broker: str
) -> None:
    """What it and its command had written is gone before the call runs again; nobody writes there after that."""
    with project_on(broker, tmp_path) as project:
        gate = project.directory / GATE
        command = f"echo begun >> log.txt; until test -e {gate}; do sleep 0.02; done; echo ended >> log.txt"
        turns = [{"tool_calls": [{"name": "run_command", "args": {"command": command}}]}, {"text": "All done."}]
        session_id = await project.create(turns, agent="default")
        log = project.workspace / "log.txt"
        with project.worker(PLAIN) as frozen:
            await project.until(log.exists, "the command runs")
            before = project.left_over(session_id)
            os.kill(frozen.pid, signal.SIGSTOP)
            project.change("UPDATE tasks SET lease_expires_at = 0 WHERE status = 'running'")
            with project.worker(PLAIN):
                await project.until(
                    lambda: log.exists() and set(project.left_over(session_id)).isdisjoint(before),
                    "the command runs again, and nothing of the first attempt",
                )
                assert frozen.wait(10) == -signal.SIGKILL
                gate.touch()
                await project.all_completed()
        assert log.read_text() == "begun\nended\n"
        events = (await project.detail(session_id)).events
        settled = [event.data for event in events if event.type is EventType.CALL_SETTLED]
        assert [(data["outcome"], data["rolled_back"]) for data in settled] == [("replay", 1)]
