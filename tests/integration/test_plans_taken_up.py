"""A plan that failed, that is taken up again, or that has come to a limit: what then runs, and what doesn't."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nonoka import Agent, Plan, PlanInput, Retry, Runner, RunResult, Step, ToolContext, tool
from nonoka.records.commit import NewSignal
from nonoka.records.event import EventType
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.step_run import WHOLE, StepRun
from nonoka.testing import ScriptedModel, asks, runner

RAN: list[str] = []
FAILS: dict[str, int] = {}


@pytest.fixture(autouse=True)
def _nothing_ran_yet() -> None:
    RAN.clear()
    FAILS.clear()


@tool(effect="idempotent")
async def do(ctx: ToolContext, name: str) -> str:
    """Do it, or fail as often as the test says."""
    RAN.append(name)
    if FAILS.get(name, 0):
        FAILS[name] -= 1
        raise ValueError(f"{name} failed")
    return name


@tool(effect="idempotent")
async def forever() -> str:
    """Never return."""
    await asyncio.Event().wait()
    return "never"


@tool(effect="idempotent")
async def keyed(ctx: ToolContext) -> str:
    """Note the key."""
    RAN.append(ctx.idempotency_key)
    return "done"


AGENT = Agent("doer", "Do it.", tools=[do, keyed])


def step(id_: str, *after: str, **fields: Any) -> Step:
    return Step(id=id_, depends_on=after, **({"tool": "do", "args": {"name": id_}} | fields))


async def rows(runner: Runner, session_id: str) -> dict[str, StepRun]:
    plan = (await runner.ports.store.detail(session_id)).plan
    assert plan is not None
    return {run.step if run.item == WHOLE else f"{run.step}[{run.item}]": run for run in plan.runs}


async def run(here: Runner, *steps: Step, finally_steps: tuple[Step, ...] = (), **limits: Any) -> RunResult:
    """One step at a time, in their order: who comes after whom is certain."""
    plan = Plan(name="test", steps=steps, finally_steps=finally_steps, max_parallel=1)
    return await here.run_plan(plan, agent=AGENT, **limits)


async def retry_from(here: Runner, session_id: str, step_id: str) -> RunResult:
    payload = {"from": step_id}
    await here.ports.store.add_signal(session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
    return await here.resume(session_id)


async def test_a_finally_step_is_tried_again_in_a_plan_that_failed(tmp_path: Path) -> None:
    FAILS.update(bad=1, tidy=1)
    async with runner(tmp_path) as here:
        tidy = step("tidy", retry=Retry(attempts=2, backoff_s=0))
        done = await run(here, step("bad"), finally_steps=(tidy,))
        found = await rows(here, done.session_id)
    assert RAN == ["bad", "tidy", "tidy"]
    assert found["tidy"].status == "completed"


async def test_a_plan_that_fails_once_more_skips_what_a_former_run_had_completed(tmp_path: Path) -> None:
    FAILS["last"] = 1
    async with runner(tmp_path) as here:
        done = await run(here, step("a"), step("b", "a"), step("other"), step("last", "b"))
        FAILS["a"] = 1
        RAN.clear()
        again = await retry_from(here, done.session_id, "a")
        found = await rows(here, done.session_id)
    assert again.status is SessionStatus.FAILED
    assert RAN == ["a"]
    assert (found["b"].status, found["b"].reason) == ("skipped", "plan_failed")


async def test_a_step_that_made_the_plan_fail_runs_again_whatever_the_retry_begins_with(tmp_path: Path) -> None:
    FAILS["bad"] = 1
    async with runner(tmp_path) as here:
        done = await run(here, step("good"), step("bad"), step("after", "bad"))
        again = await retry_from(here, done.session_id, "good")
    assert again.status is SessionStatus.COMPLETED
    assert RAN == ["good", "bad", "good", "bad", "after"]


async def test_the_time_of_a_step_that_runs_again_counts_from_then_on(tmp_path: Path) -> None:
    FAILS["bad"] = 1
    async with runner(tmp_path) as here:
        done = await run(here, step("bad"), step("each", "bad", for_each=[1, 2]))
        before = (await rows(here, done.session_id))["bad"].ended_at
        await here.resume(done.session_id)
        found = await rows(here, done.session_id)
    assert before is not None
    assert all((row.started_at or 0) >= before for row in found.values())


async def test_what_waits_for_another_try_is_given_up_once_the_plan_fails(tmp_path: Path) -> None:
    FAILS.update(flaky=9, bad=1)
    async with runner(tmp_path) as here:
        flaky = step("flaky", retry=Retry(attempts=3, backoff_s=3000))
        plan = Plan(name="test", steps=(flaky, step("pause"), step("bad", "pause")))
        done = await here.run_plan(plan, agent=AGENT)
        found = await rows(here, done.session_id)
    assert done.status is SessionStatus.FAILED
    assert (RAN.count("flaky"), found["flaky"].status, found["flaky"].error_type) == (1, "failed", "tool_failed")


async def test_a_limit_reached_amid_a_fan_out_is_why_the_plan_failed_and_what_tidies_up_runs(
    tmp_path: Path,
) -> None:
    async with runner(tmp_path) as here:
        each = step("each", for_each=[1, 2, 3], on_failure="continue")
        done = await run(here, each, step("after", "each"), finally_steps=(step("tidy"),), max_tool_calls=2)
    assert done.error is not None
    assert done.error.message == "step 'each': limit_reached: the limit of tool calls is reached"
    assert RAN == ["each", "each", "tidy"]


async def test_a_tool_runs_where_no_more_model_requests_may_be_made(tmp_path: Path) -> None:
    async with runner(tmp_path, ScriptedModel(["asked"])) as here:
        done = await run(here, Step(id="ask", prompt="?"), step("write", "ask"), max_model_turns=1)
        over = await run(here, Step(id="ask", prompt="?"), Step(id="more", prompt="? ${ask}"), max_model_turns=1)
    assert (done.status, done.outputs) == (SessionStatus.COMPLETED, {"write": "write"})
    assert over.error is not None
    assert "the limit max_model_turns is reached" in (over.error.message or "")


async def test_the_run_of_an_agent_is_ended_after_its_steps_time(tmp_path: Path) -> None:
    kid = Agent("kid", "Do it.", tools=[forever])
    async with runner(tmp_path, ScriptedModel([asks("forever"), "never"]), agents=[kid]) as here:
        done = await run(here, Step(id="kid", agent="kid", task="do it", timeout_s=0.3), step("after", "kid"))
        found = await rows(here, done.session_id)
    assert done.status is SessionStatus.FAILED
    assert found["kid"].error_type == "timeout"


async def test_steps_that_use_an_input_with_another_value_now_have_changed(tmp_path: Path) -> None:
    """What they brought was of the old value; under a key of its own they run again."""
    FAILS["bad"] = 1
    plan = Plan(
        name="test",
        steps=(step("uses", args={"name": "uses ${inputs.n}"}), step("not"), step("bad", "uses", "not")),
        inputs={"n": PlanInput()},
        max_parallel=1,
    )
    async with runner(tmp_path) as here:
        done = await here.run_plan(plan, {"n": 1}, agent=AGENT)
        payload = {"plan": plan.model_dump_json(), "inputs": '{"n": 2}'}
        await here.ports.store.add_signal(done.session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
        again = await here.resume(done.session_id)
        found = await rows(here, done.session_id)
    assert again.status is SessionStatus.COMPLETED
    assert RAN == ["uses 1", "not", "bad", "uses 2", "bad"]
    assert (found["uses"].rounds, found["not"].rounds) == (1, 0)


async def test_a_failed_step_that_was_edited_runs_under_a_key_of_its_own(tmp_path: Path) -> None:
    """Whoever remembers the old key would refuse other arguments under it, or answer with what it did before."""
    FAILS["bad"] = 1
    async with runner(tmp_path) as here:
        done = await run(here, step("bad"))
        edited = Plan(name="test", steps=(step("bad", args={"name": "good"}),))
        payload = {"plan": edited.model_dump_json()}
        await here.ports.store.add_signal(done.session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
        again = await here.resume(done.session_id)
        found = await rows(here, done.session_id)
    assert (again.status, again.outputs) == (SessionStatus.COMPLETED, {"bad": "good"})
    assert found["bad"].rounds == 1


async def test_a_wait_for_another_try_ends_with_the_plans_time(tmp_path: Path) -> None:
    FAILS["bad"] = 9
    async with runner(tmp_path) as here:
        done = await run(here, step("bad", retry=Retry(attempts=3, backoff_s=3000)), max_wall_s=1)
    assert RAN == ["bad"]
    assert done.error is not None
    assert done.error.message == "step 'bad': limit_reached: the limit max_wall_s is reached"


async def test_items_that_are_no_more_are_not_shown(tmp_path: Path) -> None:
    FAILS["bad"] = 1
    plan = Plan(
        name="test",
        steps=(step("each", for_each="${inputs.list}"), step("bad", "each")),
        inputs={"list": PlanInput()},
    )
    async with runner(tmp_path) as here:
        done = await here.run_plan(plan, {"list": [1, 2, 3]}, agent=AGENT)
        payload = {"plan": plan.model_dump_json(), "inputs": '{"list": [1]}'}
        await here.ports.store.add_signal(done.session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
        again = await here.resume(done.session_id)
        found = await rows(here, done.session_id)
        state = await here.get_state(done.session_id)
    assert again.status is SessionStatus.COMPLETED
    assert set(found) == {"each", "each[0]", "bad"}
    assert set(state.completed_steps) == {"plan:1/step:each", "plan:1/step:each/item:0", "plan:1/step:bad"}


async def test_a_step_that_comes_back_by_an_edit_has_a_key_that_was_never_used(tmp_path: Path) -> None:
    FAILS["bad"] = 2
    whole, part = (step("here", tool="keyed", args={}), step("bad")), (step("bad"),)
    async with runner(tmp_path) as here:
        done = await run(here, *whole)
        for steps in (part, whole):
            payload = {"plan": Plan(name="test", steps=steps, max_parallel=1).model_dump_json()}
            await here.ports.store.add_signal(done.session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
            done = await here.resume(done.session_id)
    assert done.status is SessionStatus.COMPLETED
    assert len([name for name in RAN if name != "bad"]) == len({name for name in RAN if name != "bad"}) == 2


async def test_a_paused_plan_goes_on_though_its_steps_session_has_ended_meanwhile(tmp_path: Path) -> None:
    began, gate = asyncio.Event(), asyncio.Event()

    @tool(effect="idempotent")
    async def hold() -> str:
        """Wait."""
        began.set()
        await gate.wait()
        return "held"

    kid = Agent("kid", "Do it.", tools=[hold])
    async with runner(tmp_path, ScriptedModel([asks("hold"), "done"]), agents=[kid]) as here:
        plan = Plan(name="test", steps=(Step(id="kid", agent="kid", task="do it"), step("after", "kid")))
        session_id, claimed = await here.create_plan(plan, agent=AGENT)
        work = asyncio.create_task(here.work_on(session_id, claimed))
        await began.wait()
        child = (await rows(here, session_id))["kid"].child or ""
        await here.pause_session(session_id)
        async for event in here.follow(session_id):
            if event.type is EventType.SESSION_PAUSED:
                break
        gate.set()
        assert (await work).status is SessionStatus.PAUSED
        assert (await here.work_on(child)).status is SessionStatus.PAUSED
        assert (await here.resume(child)).status is SessionStatus.COMPLETED
        assert (await here.result(session_id)).status is SessionStatus.PAUSED
        done = await here.resume(session_id)
    assert (done.status, RAN) == (SessionStatus.COMPLETED, ["after"])
