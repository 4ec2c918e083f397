"""A cancel, or a pause that can't wait, reaches from another process what a worker is in the middle of."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nonoka.adapters.clock import SystemClock
from nonoka.decisions.conversation_rules import first_fault
from nonoka.decisions.inbox import CANCELLED_RESULT, CUT_OFF_RESULT
from nonoka.engine.accept import SessionRequest, create_session, send_message, send_signal
from nonoka.records.event import EventType
from nonoka.records.signal import SignalKind
from tests.support.crash_agent import write_script
from tests.support.openai_server import OpenAIServer, silence, text
from tests.support.project import PLAIN, Project

WITHIN_S = 5
BACK: dict[str, object] = {"text": "I am back."}
#: what a run is in the middle of
DOING = ("commanding", "thinking", "asking")


@dataclass
class AtWork:
    """Three sessions of one worker: one runs a command, one waits for a model, one for a model's server."""

    project: Project
    server: OpenAIServer
    ids: dict[str, str]

    async def signal(self, kind: SignalKind, *, now: bool = False) -> None:
        """Everyone is signalled from this process, which is not the worker's."""
        async with self.project.store() as store:
            for session_id in self.ids.values():
                await send_signal(store, session_id, kind, now=now)

    async def all_stopped(self, status: str) -> None:
        """Everyone has this status and nothing of what they did goes on, in time."""
        await self.project.until(
            lambda: (
                self.project.statuses() == [status] * len(DOING)
                and not self.project.left_over(self.ids["commanding"])
                and self.server.hung_up.is_set()
            ),
            f"all are {status}, no process is left, no connection is open",
            WITHIN_S,
        )

    def heal(self) -> None:
        """Each model answers from here on."""
        for doing in ("commanding", "thinking"):
            write_script(self.project.directory / f"{doing}.yaml", [*turns_of(self.project, doing)[:1], BACK])
        write_script(self.project.directory / "thinking.yaml", [BACK])


def turns_of(project: Project, doing: str) -> list[dict[str, object]]:
    """The command leaves a daemon and goes on for minutes; the second time it is over at once."""
    if doing == "thinking":
        return [{"text": "Never said.", "delay_s": 60}]
    once = project.directory / "once"
    daemon = "(setsid sleep 300 >/dev/null 2>&1 &)"
    command = f"test -e {once} && exit; {daemon}; touch {once}; sleep 300"
    calls = [{"name": "run_command", "args": {"command": line}} for line in (command, "echo second")]
    return [{"tool_calls": calls}, BACK]


@asynccontextmanager
async def at_work(project: Project) -> AsyncIterator[AtWork]:
    """The worker is in the middle of each."""
    models = {
        doing: write_script(project.directory / f"{doing}.yaml", turns_of(project, doing)) for doing in DOING[:2]
    }
    models["asking"] = "openai:some-model"
    ids = {}
    async with project.store() as store:
        for doing, model in models.items():
            request = SessionRequest(prompt=doing, agent="default", model=model, working_dir=project.workspace)
            ids[doing] = (await create_session(store, SystemClock(), request))[0]
    with OpenAIServer([silence(), text("I am back.")]) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test-key"}
        with project.worker(PLAIN, environ=environ):
            await project.until(
                lambda: (
                    (project.directory / "once").exists()
                    and len(project.left_over(ids["commanding"])) >= 2
                    and len(server.requests) == 1
                    and project.statuses() == ["running"] * len(DOING)
                ),
                "all are at work",
            )
            yield AtWork(project, server, ids)


async def test_a_cancel_reaches_a_command_and_what_it_left_and_a_model_request(project: Project) -> None:
    """Nothing happens after the recorded time, and each session takes another prompt."""
    async with at_work(project) as sessions:
        await sessions.signal(SignalKind.CANCEL)
        await sessions.all_stopped("cancelled")
        for session_id in sessions.ids.values():
            detail = await project.detail(session_id)
            assert (detail.events[-1].type, detail.events[-1].at) == (
                EventType.SESSION_CANCELLED,
                detail.state.runtime_state.cancelled_at,
            )
        detail = await project.detail(sessions.ids["commanding"])
        cut_off = f"{CUT_OFF_RESULT}; its changes to the workspace were rolled back"
        assert [e.content for e in detail.state.memory_entries[2:]] == [cut_off, CANCELLED_RESULT]

        sessions.heal()
        async with project.store() as store:
            for session_id in sessions.ids.values():
                await send_message(store, session_id, "and now?")
        await project.all_completed()
        for session_id in sessions.ids.values():
            entries = (await project.detail(session_id)).state.memory_entries
            assert first_fault(entries) is None
            assert [entry.content for entry in entries[-2:]] == ["and now?", "I am back."]
        assert project.left_over(sessions.ids["commanding"]) == []


async def test_a_pause_that_cannot_wait_reaches_as_far_and_can_be_resumed(project: Project) -> None:
    """What was cut off is settled: the call runs again under its key, the model is asked again."""
    async with at_work(project) as sessions:
        await sessions.signal(SignalKind.PAUSE, now=True)
        await sessions.all_stopped("paused")
        for session_id in sessions.ids.values():
            assert (await project.detail(session_id)).events[-1].type is EventType.SESSION_PAUSED

        sessions.heal()
        await sessions.signal(SignalKind.RESUME)
        await project.all_completed()
        detail = await project.detail(sessions.ids["commanding"])
        begun = [e.data for e in detail.events if e.type is EventType.CALL_STARTED]
        assert [(one["tool_call_id"], one["attempt"]) for one in begun] == [
            ("call_1_0", 1),
            ("call_1_0", 2),
            ("call_1_1", 1),
        ]
        for session_id in sessions.ids.values():
            entries = (await project.detail(session_id)).state.memory_entries
            assert first_fault(entries) is None
            assert entries[-1].content == "I am back."


async def test_a_pause_lets_the_call_in_flight_end(project: Project) -> None:
    """It has its result, the next call does not begin, and the session is paused."""
    once, gate = project.directory / "once", project.directory / "gate"
    commands = [f"touch {once}; while ! test -e {gate}; do sleep 0.02; done; echo first", "echo second"]
    calls = [{"name": "run_command", "args": {"command": command}} for command in commands]
    model = write_script(project.directory / "script.yaml", [{"tool_calls": calls}, BACK])
    request = SessionRequest(prompt="wait", agent="default", model=model, working_dir=project.workspace)
    async with project.store() as store:
        session_id = (await create_session(store, SystemClock(), request))[0]
        with project.worker(PLAIN):
            await project.until(once.exists, "the first command runs")
            await send_signal(store, session_id, SignalKind.PAUSE)
            gate.touch()
            await project.until(lambda: project.statuses() == ["paused"], "it is paused")
            detail = await store.detail(session_id)
            assert [(call.status, call.attempt) for call in detail.calls] == [("done", 1), ("not_begun", 0)]
            await send_signal(store, session_id, SignalKind.RESUME)
            await project.all_completed()
        contents = [entry.content for entry in (await store.detail(session_id)).state.memory_entries]
    assert ["first" in contents[2], "second" in contents[3], contents[4]] == [True, True, "I am back."]
