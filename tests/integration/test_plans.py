"""Plans through the Runner: what each step's end means for the others, whatever kind of step it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nonoka import Agent, Plan, PlanInput, PlanInvalid, Retry, Runner, RunResult, Step, tool
from nonoka.records.commit import NewSignal
from nonoka.records.event import EventType
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.step_run import WHOLE, StepRun
from nonoka.testing import ScriptedModel, asks, runner

pytestmark = pytest.mark.usefixtures("world")


class World:
    """What the tools of these tests do, and have done."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self.fail: dict[str, int] = {}
        self.held, self.held_before_waiting = 0, 1
        self.gate = asyncio.Event()
        self.waiting = asyncio.Event()
        self.failed = asyncio.Event()


THE_WORLD: World


@pytest.fixture
async def world() -> World:
    global THE_WORLD
    THE_WORLD = World()
    return THE_WORLD


@tool(effect="idempotent")
async def do(name: str, value: Any = None) -> Any:
    """Do something and return the value."""
    THE_WORLD.ran.append(name)
    THE_WORLD.at_once += 1
    THE_WORLD.most_at_once = max(THE_WORLD.most_at_once, THE_WORLD.at_once)
    await asyncio.sleep(0.001)
    THE_WORLD.at_once -= 1
    if THE_WORLD.fail.get(name, 0) > 0:
        THE_WORLD.fail[name] -= 1
        THE_WORLD.failed.set()
        raise ValueError(f"{name} failed")
    return name if value is None else value


@tool(effect="idempotent")
async def hold(name: str) -> str:
    """Wait until the gate is open."""
    THE_WORLD.ran.append(name)
    THE_WORLD.held += 1
    if THE_WORLD.held >= THE_WORLD.held_before_waiting:
        THE_WORLD.waiting.set()
    await THE_WORLD.gate.wait()
    return name


@tool(effect="idempotent")
async def odd(name: str) -> Any:
    """Return what is no JSON."""
    return {"set": {2, 1}, "bytes": b"\xff", "nan": float("nan"), "name": name}


AGENT = Agent("doer", "Do it.", tools=[do, hold, odd])


def step(id_: str, *after: str, **fields: Any) -> Step:
    """A step that does something under its own name."""
    given = {"tool": "do", "args": {"name": id_}} | fields
    return Step(id=id_, depends_on=after, **given)


async def run_of(runner: Runner, *steps: Step, **plan: Any) -> tuple[RunResult, dict[str, StepRun]]:
    done = await runner.run_plan(Plan(name="test", steps=steps, **plan), agent=AGENT)
    return done, await rows(runner, done.session_id)


async def rows(runner: Runner, session_id: str) -> dict[str, StepRun]:
    plan = (await runner.ports.store.detail(session_id)).plan
    assert plan is not None
    return {run.step if run.item == WHOLE else f"{run.step}[{run.item}]": run for run in plan.runs}


def statuses(found: dict[str, StepRun]) -> dict[str, str]:
    return {name: run.status.value for name, run in found.items()}


async def test_values_flow_along_the_references_and_keep_their_type(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        done, _ = await run_of(
            here,
            step("a", args={"name": "a", "value": {"items": [{"n": 1}, {"n": 2}]}}),
            step("b", args={"name": "b", "value": "${a.items[1].n}"}),
            step("c", args={"name": "c", "value": "n is ${b}, all ${a.items}, $${b}"}),
            outputs={"b": "${b}", "c": "${c}", "both": ["${b}", "${b}"]},
        )
    assert done.status is SessionStatus.COMPLETED
    assert done.outputs == {"b": 2, "c": 'n is 2, all [{"n": 1}, {"n": 2}], ${b}', "both": [2, 2]}
    assert world.ran == ["a", "b", "c"]


async def test_steps_that_are_ready_run_side_by_side_and_a_join_waits_for_all(
    tmp_path: Path, world: World
) -> None:
    async with runner(tmp_path) as here:
        wide = [step(f"w{n}", "a", tool="hold") for n in range(8)]
        world.held_before_waiting = 8
        work = asyncio.create_task(run_of(here, step("a"), *wide, step("z", *(w.id for w in wide))))
        await world.waiting.wait()
        world.gate.set()
        await work
    assert (world.ran[0], world.ran[-1]) == ("a", "z")
    assert sorted(world.ran) == sorted(["a", "z", *(w.id for w in wide)])


async def test_a_failed_step_fails_the_plan_and_nothing_new_begins_but_finally(
    tmp_path: Path, world: World
) -> None:
    world.fail["bad"] = 1
    async with runner(tmp_path) as here:
        work = asyncio.create_task(
            run_of(
                here,
                step("slow", tool="hold", args={"name": "slow"}),
                step("after_slow", "slow"),
                step("bad"),
                step("after_bad", "bad"),
                finally_steps=(step("tidy", args={"name": "tidy", "value": "${slow} ${after_bad}"}),),
            )
        )
        await world.waiting.wait()
        await world.failed.wait()
        world.gate.set()
        done, found = await work
    assert done.status is SessionStatus.FAILED
    assert done.error is not None
    assert (done.error.error_type, done.error.message) == (
        "step_failed",
        "step 'bad': tool_failed: ValueError: bad failed",
    )
    assert statuses(found) == {
        "slow": "completed",
        "after_slow": "skipped",
        "bad": "failed",
        "after_bad": "skipped",
        "tidy": "completed",
    }
    assert found["after_slow"].reason == "plan_failed"


async def test_on_failure_says_what_becomes_of_those_that_wait(tmp_path: Path, world: World) -> None:
    """continue: they run, with null; skip: they are skipped, and those after them, but for a loose one."""
    world.fail |= {"c": 1, "s": 1}
    async with runner(tmp_path) as here:
        done, found = await run_of(
            here,
            step("c", on_failure="continue"),
            step("c2", args={"name": "c2", "value": ["${c}", "${c.deep.path}"]}),
            step("s", on_failure="skip"),
            step("s2", "s"),
            step("s3", "s2"),
            step("loose", "s?", "s3?", args={"name": "loose", "value": ["${s}", "${s3}"]}),
            outputs={"c2": "${c2}", "loose": "${loose}", "s3": "${s3}"},
        )
    assert done.status is SessionStatus.COMPLETED
    assert done.outputs == {"c2": [None, None], "loose": [None, None], "s3": None}
    assert (found["s2"].reason, found["s3"].reason) == ("step 's' failed", "step 's2' was skipped")


async def test_a_condition_decides_whether_a_step_is_taken(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        done, found = await run_of(
            here,
            step("n", args={"name": "n", "value": 3}),
            step("many", when="${n} > 5"),
            step("few", when="${n} <= 5 and ${inputs.word} == 'go'"),
            step("after_many", "many"),
            step("broken", when="${n.deep} == 1", on_failure="skip"),
            inputs={"word": PlanInput(type="string", default="go")},
        )
    assert done.status is SessionStatus.COMPLETED
    assert statuses(found) == {
        "n": "completed",
        "many": "skipped",
        "few": "completed",
        "after_many": "skipped",
        "broken": "failed",
    }
    assert found["broken"].error_type == "invalid_arguments"


async def test_a_step_is_tried_as_often_as_it_says_and_for_what_it_says(tmp_path: Path, world: World) -> None:
    world.fail |= {"twice": 2, "often": 9, "wrong": 9}
    soon = {"backoff_s": 0.001}
    async with runner(tmp_path) as here:
        _, found = await run_of(
            here,
            step("twice", retry=Retry(attempts=3, on=("ValueError",), **soon)),
            step("often", retry=Retry(attempts=2, **soon), on_failure="skip"),
            step("wrong", retry=Retry(attempts=5, on=("timeout",), **soon), on_failure="skip"),
        )
        session_id = (await here.list_sessions())[0].index.session_id
        events = (await here.ports.store.detail(session_id)).events
    assert [(run.status.value, run.attempt) for run in found.values()] == [
        ("completed", 3),
        ("failed", 2),
        ("failed", 1),
    ]
    retried = [event.data["step"] for event in events if event.type is EventType.STEP_RETRIED]
    assert sorted(map(str, retried)) == ["often", "twice", "twice"]


async def test_a_step_is_ended_after_its_time(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        done, found = await run_of(here, step("slow", tool="hold", args={"name": "slow"}, timeout_s=0.05))
    assert done.status is SessionStatus.FAILED
    assert found["slow"].error_type == "timeout"


async def test_a_fan_out_brings_its_items_results_in_their_order(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        done, found = await run_of(
            here,
            step("list", args={"name": "list", "value": list(range(40))}),
            step("each", for_each="${list}", max_parallel=3, args={"name": "i${index}", "value": ["${item}"]}),
            step("sum", args={"name": "sum", "value": "${each[39]}"}),
            step("none", for_each=[], args={"name": "never"}),
            outputs={"each": "${each}", "sum": "${sum}", "none": "${none}"},
        )
    assert done.outputs == {"each": [[n] for n in range(40)], "sum": [39], "none": []}
    assert world.most_at_once <= 3
    assert (found["each"].items, found["none"].items) == (40, 0)
    assert len([name for name in world.ran if name.startswith("i")]) == 40


async def test_a_failing_item_fails_its_step_and_those_not_begun_are_skipped(tmp_path: Path, world: World) -> None:
    world.fail["i2"] = 1
    async with runner(tmp_path) as here:
        done, found = await run_of(
            here, step("each", for_each=list(range(30)), max_parallel=1, args={"name": "i${index}"})
        )
    assert done.status is SessionStatus.FAILED
    assert found["each"].message == "item 2: ValueError: i2 failed"
    assert world.ran == ["i0", "i1", "i2"]
    assert found["each[3]"].status.value == "skipped"


async def test_a_failing_item_is_null_where_the_step_says_continue(tmp_path: Path, world: World) -> None:
    world.fail["i1"] = 1
    async with runner(tmp_path) as here:
        done, _ = await run_of(
            here, step("each", for_each=["a", "b", "c"], on_failure="continue", args={"name": "i${index}"})
        )
    assert done.outputs == {"each": ["i0", None, "i2"]}


async def test_what_is_no_list_can_not_be_fanned_out(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        _, found = await run_of(here, step("a"), step("each", for_each="${a}", args={"name": "never"}))
    assert found["each"].error_type == "invalid_arguments"
    assert world.ran == ["a"]


async def test_any_value_is_a_result_that_can_be_referred_to(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        done, _ = await run_of(
            here, step("odd", tool="odd"), step("next", args={"name": "next", "value": "${odd.set[0]}"})
        )
    assert done.outputs == {"next": 1}


async def test_finally_steps_come_in_their_own_order_however_those_before_ended(
    tmp_path: Path, world: World
) -> None:
    world.fail["f1"] = 1
    async with runner(tmp_path) as here:
        done, found = await run_of(here, step("a"), finally_steps=(step("f2", "f1"), step("f1")))
    assert world.ran == ["a", "f1", "f2"]
    assert statuses(found) == {"a": "completed", "f2": "completed", "f1": "failed"}
    assert done.status is SessionStatus.FAILED


async def test_a_cancelled_plan_begins_nothing_more_not_even_finally(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        plan = Plan(
            name="test",
            steps=(step("held", tool="hold", args={"name": "held"}), step("next", "held")),
            finally_steps=(step("tidy"),),
        )
        session_id, claimed = await here.create_plan(plan, agent=AGENT)
        work = asyncio.create_task(here.work_on(session_id, claimed))
        await world.waiting.wait()
        await here.cancel_session(session_id)
        done = await work
        found = await rows(here, session_id)
    assert done.status is SessionStatus.CANCELLED
    assert set(statuses(found).values()) == {"cancelled"}
    assert world.ran == ["held"]


@pytest.mark.parametrize("now", [False, True])
async def test_a_paused_plan_goes_on_where_it_was(tmp_path: Path, world: World, now: bool) -> None:
    """What ran is let finish, or with ``now`` cut off and begun again; nothing new begins until the resume."""
    async with runner(tmp_path) as here:
        plan = Plan(
            name="test",
            steps=(step("held", tool="hold", args={"name": "held"}), step("next", "held"), step("side", "held")),
        )
        session_id, claimed = await here.create_plan(plan, agent=AGENT)
        work = asyncio.create_task(here.work_on(session_id, claimed))
        await world.waiting.wait()
        await here.pause_session(session_id, now=now)
        if not now:
            world.gate.set()
        paused = await work
        assert paused.status is SessionStatus.PAUSED
        assert world.ran == ["held"]
        world.gate.set()
        done = await here.resume(session_id)
    assert done.status is SessionStatus.COMPLETED
    assert sorted(world.ran) == sorted(["held", *(["held"] if now else []), "next", "side"])


async def test_a_retry_runs_what_failed_and_what_waits_for_it_and_keeps_the_rest(
    tmp_path: Path, world: World
) -> None:
    world.fail["bad"] = 1
    async with runner(tmp_path) as here:
        done, _ = await run_of(
            here, step("good"), step("bad", "good"), step("after", "bad"), finally_steps=(step("tidy"),)
        )
        assert done.status is SessionStatus.FAILED
        assert world.ran == ["good", "bad", "tidy"]
        again = await here.resume(done.session_id)
    assert (again.status, again.outputs) == (SessionStatus.COMPLETED, {"after": "after"})
    assert world.ran[3:] == ["bad", "after", "tidy"]


async def test_a_retry_keeps_the_items_that_were_completed(tmp_path: Path, world: World) -> None:
    world.fail["i1"] = 1
    async with runner(tmp_path) as here:
        each = step("each", for_each=[0, 1, 2], max_parallel=1, args={"name": "i${index}"})
        done, _ = await run_of(here, each, step("after", "each"))
        assert done.status is SessionStatus.FAILED
        again = await here.resume(done.session_id)
    assert again.status is SessionStatus.COMPLETED
    assert world.ran == ["i0", "i1", "i1", "i2", "after"]


async def test_a_retry_from_a_step_runs_it_and_all_after_it_once_more(tmp_path: Path, world: World) -> None:
    """Under a key of its own: what it did before was for a run that is over."""
    world.fail["c"] = 1
    async with runner(tmp_path) as here:
        done, _ = await run_of(here, step("a"), step("b", "a"), step("c", "b"), step("side", "a"))
        payload = {"from": "b"}
        await here.ports.store.add_signal(done.session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
        again = await here.resume(done.session_id)
        found = await rows(here, done.session_id)
    assert again.status is SessionStatus.COMPLETED
    assert (world.ran.count("a"), world.ran.count("b"), world.ran.count("c")) == (1, 2, 2)
    assert {name: run.rounds for name, run in found.items()} == {"a": 0, "b": 1, "c": 0, "side": 0}


async def test_a_model_is_asked_again_until_its_answer_fits(tmp_path: Path, world: World) -> None:
    model = ScriptedModel(["three", '```json\n{"n": 3}\n```'])
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with runner(tmp_path, model) as here:
        done, found = await run_of(
            here, Step(id="ask", prompt="how many?", output=schema), step("next", args={"name": "n${ask.n}"})
        )
    assert done.outputs == {"next": "n3"}
    assert [len(request.entries) for request in model.requests] == [1, 3]
    assert (done.usage.model_turns, found["ask"].attempt) == (2, 1)


async def test_an_output_that_becomes_no_schema_fails_its_step_before_a_model_is_asked(
    tmp_path: Path, world: World
) -> None:
    """What a reference brings into a schema is known only then; no other attempt would change it."""
    model = ScriptedModel(['"x"'])
    async with runner(tmp_path, model) as here:
        done, found = await run_of(here, step("a"), Step(id="ask", prompt="?", output={"type": "${a}"}))
    assert (done.status, found["ask"].error_type) == (SessionStatus.FAILED, "invalid_arguments")
    assert 'type: is "a", not one of' in found["ask"].message
    assert model.requests == []


async def test_an_agents_step_is_a_session_of_its_own(tmp_path: Path, world: World) -> None:
    """Linked both ways, within what is left of the plan's budget; what it used counts for the plan."""
    model = ScriptedModel([asks("do", name="in the child"), "it is done"])
    kid = Agent("kid", "Do it.", tools=[do])
    async with runner(tmp_path, model, agents=[kid]) as here:
        plan = Plan(
            name="test",
            steps=(Step(id="kid", agent="kid", task="do ${inputs.what}"),),
            inputs={"what": PlanInput()},
        )
        done = await here.run_plan(plan, {"what": "this"}, agent=AGENT, max_model_turns=5)
        found = await rows(here, done.session_id)
        child = await here.ports.store.detail(found["kid"].child or "")
    assert done.outputs == {"kid": "it is done"}
    assert child.index.parent == done.session_id
    assert child.state.memory_entries[0].content == "do this"
    assert child.state.runtime_state.limits.session_max_model_turns == 5
    assert (done.usage.model_turns, done.usage.tool_calls) == (2, 1)


async def test_a_cancel_reaches_the_sessions_of_a_plans_agents(tmp_path: Path, world: World) -> None:
    model = ScriptedModel([asks("hold", name="in the child"), "never"])
    kid = Agent("kid", "Do it.", tools=[hold])
    async with runner(tmp_path, model, agents=[kid]) as here:
        plan = Plan(name="test", steps=(Step(id="kid", agent="kid", task="do it"), step("next", "kid")))
        session_id, claimed = await here.create_plan(plan, agent=AGENT)
        work = asyncio.create_task(here.work_on(session_id, claimed))
        await world.waiting.wait()
        await here.cancel_session(session_id)
        done = await work
        child = (await rows(here, session_id))["kid"].child or ""
        ended = await here.work_on(child)
    assert (done.status, ended.status) == (SessionStatus.CANCELLED, SessionStatus.CANCELLED)


async def test_plans_in_one_store_never_mix_results(tmp_path: Path, world: World) -> None:
    async with runner(tmp_path) as here:
        plan = Plan(
            name="test", steps=(step("a", args={"name": "a", "value": "${inputs.n}"}),), inputs={"n": PlanInput()}
        )
        done = await asyncio.gather(*(here.run_plan(plan, {"n": n}, agent=AGENT) for n in range(5)))
    assert [each.outputs for each in done] == [{"a": n} for n in range(5)]


async def test_a_plan_with_errors_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    async with runner(tmp_path) as here:
        plan = Plan(name="test", steps=(step("a", "b"), step("b", "a"), step("c", tool="nothing"), step("c")))
        with pytest.raises(PlanInvalid) as refused:
            await here.run_plan(plan, agent=AGENT)
        assert await here.list_sessions() == []
    assert len(refused.value.errors) >= 3


async def test_an_edited_plan_runs_what_has_changed_and_keeps_the_rest(tmp_path: Path, world: World) -> None:
    """A changed step is run again with all that wait for it, a new one is run, one that is gone is skipped."""
    world.fail["bad"] = 1
    old = Plan(
        name="old",
        steps=(step("same"), step("other"), step("changed"), step("after", "changed"), step("bad", "same")),
    )
    new = Plan(
        name="new",
        steps=(
            step("new", "bad"),
            step("same"),
            step("changed", args={"name": "changed", "value": 2}),
            step("after", "changed"),
            step("bad", "same", args={"name": "good", "value": "${inputs.n}"}),
        ),
        inputs={"n": PlanInput()},
        max_parallel=1,
    )
    async with runner(tmp_path) as here:
        done = await here.run_plan(old.model_copy(update={"max_parallel": 1}), agent=AGENT)
        assert sorted(world.ran) == ["after", "bad", "changed", "other", "same"]
        world.ran.clear()
        payload = {"plan": new.model_dump_json(), "inputs": '{"n": 5}'}
        await here.ports.store.add_signal(done.session_id, NewSignal(kind=SignalKind.RETRY, payload=payload))
        again = await here.resume(done.session_id)
        found = await rows(here, done.session_id)
        told = [
            e.data
            for e in (await here.ports.store.detail(done.session_id)).events
            if e.type is EventType.PLAN_CHANGED
        ]
    assert (again.status, again.outputs) == (SessionStatus.COMPLETED, {"new": "new", "after": "after"})
    assert sorted(world.ran) == ["after", "changed", "good", "new"]
    assert statuses(found)["other"] == "skipped"
    assert [(one["changed"], one["added"], one["removed"], one["kept"]) for one in told] == [
        (["changed", "bad"], ["new"], ["other"], ["same"])
    ]


async def test_a_pause_and_a_resume_reach_the_sessions_of_a_plans_agents(tmp_path: Path, world: World) -> None:
    model = ScriptedModel([asks("hold", name="in the child"), "it is done"])
    kid = Agent("kid", "Do it.", tools=[hold])
    async with runner(tmp_path, model, agents=[kid]) as here:
        plan = Plan(name="test", steps=(Step(id="kid", agent="kid", task="do it"), step("next", "kid")))
        session_id, claimed = await here.create_plan(plan, agent=AGENT)
        work = asyncio.create_task(here.work_on(session_id, claimed))
        await world.waiting.wait()
        await here.pause_session(session_id, now=True)
        assert (await work).status is SessionStatus.PAUSED
        child = (await rows(here, session_id))["kid"].child or ""
        await here.work_on(child)
        assert (await here.result(child)).status is SessionStatus.PAUSED
        world.gate.set()
        done = await here.resume(session_id)
    assert (done.status, done.outputs) == (SessionStatus.COMPLETED, {"next": "next"})
    assert world.ran == ["in the child", "in the child", "next"]


async def test_a_step_whose_session_is_deleted_has_failed(tmp_path: Path, world: World) -> None:
    model = ScriptedModel([asks("hold", name="in the child"), "never"])
    kid = Agent("kid", "Do it.", tools=[hold])
    async with runner(tmp_path, model, agents=[kid]) as here:
        plan = Plan(name="test", steps=(Step(id="kid", agent="kid", task="do it", timeout_s=60),))
        session_id, claimed = await here.create_plan(plan, agent=AGENT)
        work = asyncio.create_task(here.work_on(session_id, claimed))
        await world.waiting.wait()
        child = (await rows(here, session_id))["kid"].child or ""
        assert (await here.get_state(child)).runtime_state.limits.session_max_wall_s == 60
        await here.stop()
        await work
        await here.ports.store.delete_session(child)
        done = await here.resume(session_id)
    assert done.error is not None
    assert "child_deleted" in (done.error.message or "")
