"""A task that takes its worker down each time is given up, and takes no other session with it."""

from __future__ import annotations

from nonoka.decisions.conversation_rules import first_fault
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.engine.accept import send_message
from nonoka.records.event import EventType
from tests.support.project import Project

DEADLY: list[dict[str, object]] = [
    {"tool_calls": [{"name": "look", "args": {"place": "hall"}}, {"name": "explode", "args": {}}]},
    {"text": "I survived."},
]
HARMLESS: list[dict[str, object]] = [
    {"tool_calls": [{"name": "look", "args": {"place": "hall"}}, {"name": "pay", "args": {"amount": 1}}]},
    {"delay_s": 0.5, "tool_calls": [{"name": "look", "args": {"place": "attic"}}]},
    {"text": "All done."},
]


async def test_a_session_that_kills_its_workers_fails_after_five_and_takes_another_prompt(
    project: Project,
) -> None:
    """Its history stays valid, its next run works, and the sessions beside it complete."""
    harmless = [await project.create(HARMLESS, name="harmless") for _ in range(3)]
    deadly = await project.create(DEADLY, name="deadly")
    with project.supervisor(processes=2):
        await project.until(
            lambda: "running" not in project.statuses() and "created" not in project.statuses(), "rest"
        )
        failed = await project.detail(deadly)
        assert failed.state.status == "failed"
        ended = failed.state.runtime_state.termination
        assert ended is not None
        assert ended.error_type == "worker_crashed"
        assert first_fault(failed.state.memory_entries) is None
        deaths = [e.data["deaths"] for e in failed.events if e.type is EventType.TURN_RELEASED]
        assert deaths == list(range(1, MAX_DEATHS + 1))
        explosions = [ran for ran in project.oracle.ran(deadly) if ran.tool_call_id == "call_1_1"]
        assert [ran.attempt for ran in explosions] == deaths
        for session_id in harmless:
            assert (await project.detail(session_id)).state.status == "completed"

        async with project.store() as store:
            await send_message(store, deadly, "are you well?")
        await project.all_completed()
    answered = await project.detail(deadly)
    assert answered.state.memory_entries[-1].content == "I survived."
    assert first_fault(answered.state.memory_entries) is None
    assert len([ran for ran in project.oracle.ran(deadly) if ran.tool_call_id == "call_1_1"]) == MAX_DEATHS
