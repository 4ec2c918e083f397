"""Tools that don't end, block, hold the interpreter, fork or leave something behind: every session goes on."""

from __future__ import annotations

from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.decisions.conversation_rules import first_fault
from nonoka.engine.accept import SessionRequest, create_session, send_signal
from nonoka.records.commit import SessionDetail
from nonoka.records.event import EventType
from nonoka.records.signal import SignalKind
from tests.support import hanging_agent
from tests.support.crash_agent import write_script
from tests.support.processes import lives
from tests.support.project import PLAIN, Project

#: The real supervisor, which gives up a silent child after 3 s instead of 30.
IMPATIENT = """
import os, sys
from pathlib import Path
from nonoka.settings import load_settings
from workers import supervisor
supervisor.SILENT_LOOKS = 30
sys.exit(supervisor.supervise(load_settings(Path.cwd(), os.environ), processes=1, threads=8))
"""


async def session(project: Project, *tools: str) -> str:
    """A session in which the model asks for each of these, a turn each, and then is done."""
    turns: list[dict[str, object]] = [{"tool_calls": [{"name": name, "args": {}}]} for name in tools]
    model = write_script(project.directory / f"{'-'.join(tools)}.yaml", [*turns, {"text": "Done."}])
    agent = f"{Path(hanging_agent.__file__)}:agent"
    request = SessionRequest(prompt=" ".join(tools), agent=agent, model=model, working_dir=project.workspace)
    async with project.store() as store:
        return (await create_session(store, SystemClock(), request))[0]


def results(detail: SessionDetail) -> list[str]:
    """What the model was told of its calls."""
    return [entry.content for entry in detail.state.memory_entries if entry.tool_call_id]


def told(detail: SessionDetail, kind: EventType) -> list[object]:
    """The tools that events of this kind name."""
    return [event.data.get("tool") for event in detail.events if event.type is kind]


async def test_a_tool_that_never_ends_is_a_timeout_and_its_session_goes_on(tmp_path: Path) -> None:
    """In a thread, in a coroutine that heeds no cancel, blocking the loop, in a command: once each, and nobody
    else pays for it."""
    # What shares a loop with a tool that blocks it is begun again elsewhere, so these are apart.
    both = Project(tmp_path / "threads"), Project(tmp_path / "coroutines")
    hanging = (["hang_in_a_thread", "block_the_loop"], ["hang_in_a_coroutine", "hang_in_a_command"])
    ids = [
        {name: await session(one, name, "look_async") for name in names}
        for one, names in zip(both, hanging, strict=True)
    ]
    with both[0].supervisor(processes=1, threads=8), both[1].supervisor(processes=1):
        await both[0].until(lambda: len(both[0].oracle.ran()) >= 2, "they hang")
        harmless = [await session(both[0], *["look_async", "look"] * 3) for _ in range(3)]
        for project in both:
            await project.all_completed()
    for project, sessions in zip(both, ids, strict=True):
        for name, session_id in sessions.items():
            detail = await project.detail(session_id)
            assert first_fault(detail.state.memory_entries) is None
            timeout, looked = results(detail)
            assert timeout.startswith(f"{name} was ended after its 1 s"), timeout
            assert looked == "nothing"
            assert told(detail, EventType.CALL_OVERDUE) == [name] * (name != "hang_in_a_command")
            assert [ran.attempt for ran in project.oracle.ran(session_id)] == [1, 1]
    for session_id in harmless:
        assert results(await both[0].detail(session_id)) == ["nothing"] * 6


async def test_a_tool_that_holds_the_interpreter_costs_its_process_and_is_settled(project: Project) -> None:
    """The supervisor sees that the process is silent; ``on_uncertain`` decides about the call, which is named."""
    holding = await session(project, "hold_the_interpreter", "look")
    with project.worker(["-c", IMPATIENT]):
        await project.until(lambda: len(project.oracle.ran(holding)) == 1, "it holds")
        harmless = await session(project, "look", "look_async")
        await project.all_completed(90)
    detail = await project.detail(holding)
    assert told(detail, EventType.CALL_SETTLED) == ["hold_the_interpreter"]
    assert len(project.oracle.ran(holding)) == 2
    assert "whether it took effect is unknown" in results(detail)[0]
    assert results(await project.detail(harmless)) == ["nothing", "nothing"]
    assert "has not moved for 3 s" in project.log.read_text()


async def test_a_tool_that_forks_has_one_result_and_leaves_no_second_worker(project: Project) -> None:
    """The child ends where the tool returns or waits; the worker's loop and lock stay the worker's."""
    session_id = await session(project, "fork", "fork_async", "multiprocess", "look_async", "look")
    with project.worker(PLAIN):
        await project.all_completed()
        forked, forked_async, computed, *looked = results(await project.detail(session_id))
        children = [int(text.removeprefix("the parent of ")) for text in (forked, forked_async)]
        await project.until(lambda: not any(map(lives, children)), "the children have ended")
    assert (computed, looked) == ("[1, 2]", ["nothing"] * 2)


async def test_a_daemon_that_a_command_leaves_behind_is_gone_with_its_port(project: Project) -> None:
    """Twice forked, in a session of its own."""
    session_id = await session(project, "leave_a_daemon", "look")
    with project.worker(PLAIN):
        await project.all_completed()
    port, looked = results(await project.detail(session_id))
    assert not hanging_agent.listens(int(port))
    assert looked == "nothing"
    assert project.left_over(session_id) == []


async def test_a_cancel_ends_a_tool_that_nothing_stops_within_five_seconds(project: Project) -> None:
    """Its worker ends for it, and only then the cancel is on record."""
    ids = [await session(project, name, "look") for name in ("hang_long_in_a_thread", "block_the_loop_long")]
    with project.supervisor(processes=1, threads=8):
        await project.until(lambda: len(project.oracle.ran()) == 2, "they hang")
        pids = {ran.pid for ran in project.oracle.ran()}
        async with project.store() as store:
            for session_id in ids:
                await send_signal(store, session_id, SignalKind.CANCEL)
            await project.until(lambda: not any(map(lives, pids)), "the process has ended", 5)
        await project.until(lambda: set(project.statuses()) == {"cancelled"}, "both are cancelled")
    assert len(project.oracle.ran()) == 2


async def test_a_command_cannot_read_its_workers_environment(project: Project) -> None:
    """The worker is not dumpable, so its /proc/PID/environ is root's; what it runs is as any other process."""
    session_id = await session(project, "tell_secrecy")
    with project.supervisor(processes=1):
        await project.all_completed()
    assert results(await project.detail(session_id)) == ['[0, "1"]']
