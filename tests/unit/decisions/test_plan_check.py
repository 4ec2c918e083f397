"""Everything that is wrong in a plan is found, at once, each at its place."""

from __future__ import annotations

from typing import Any

import pytest

from nonoka.decisions.plan_check import AgentComplaint, check_plan, unused_inputs
from nonoka.decisions.plan_fault import written
from nonoka.records.plan import Plan, PlanInput, Step

TOOLS = {
    "read": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": False,
    }
}


def faults_of(*steps: dict[str, Any], agents: AgentComplaint | None = None, **more: Any) -> list[tuple[str, str]]:
    plan = Plan(name="p", steps=tuple(Step(**step) for step in steps), **more)
    return [(written(path), message) for path, message in check_plan(plan, TOOLS, agents)]


def read(id: str, path: object = "x", **more: Any) -> dict[str, Any]:
    return {"id": id, "tool": "read", "args": {"path": path}, **more}


def test_a_sound_plan_has_no_faults() -> None:
    steps = [
        read("a", "${inputs.dir}/x"),
        {"id": "b", "prompt": "say ${a.text}", "output": {"type": "object"}, "when": "${a.ok} == 'y'"},
        {"id": "c", "agent": "default", "task": "$${literal} ${item.name} ${index}", "for_each": "${a.items}"},
        read("d", depends_on=("b?", "c")),
    ]
    inputs = {"dir": PlanInput(type="string")}
    finally_steps = (Step(**read("end", "${a.x}${d}")), Step(**read("last", depends_on=("end",))))
    outputs = {"all": ["${d}"]}
    found = faults_of(
        *steps, inputs=inputs, finally_steps=finally_steps, outputs=outputs, agents=lambda name: None
    )
    assert found == []


def test_all_faults_are_told_at_once() -> None:
    found = faults_of(read("a", "${nope}"), read("a", "${x"), {"id": "b"}, read("c", depends_on=("zz",)))
    assert [place for place, _ in found] == [
        "steps[1].id",
        "steps[0].args.path",
        "steps[1].args.path",
        "steps[2]",
        "steps[3].depends_on[0]",
    ]


@pytest.mark.parametrize(
    ("step", "place", "says"),
    [
        ({"id": "1x", "prompt": "p"}, "steps[1].id", "letter"),
        ({"id": "item", "prompt": "p"}, "steps[1].id", "another id"),
        (read("b", prompt="p"), "steps[1]", "tool and prompt"),
        ({"id": "b", "prompt": "p", "args": {"x": 1}}, "steps[1].args", "goes with tool"),
        ({"id": "b", "agent": "x"}, "steps[1].agent", "needs a task"),
        ({"id": "b", "tool": "raed"}, "steps[1].tool", "did you mean 'read'?"),
        ({"id": "b", "tool": "read"}, "steps[1].args", "'path' is missing"),
        (read("b", 3), "steps[1].args.path", "is an integer (3), where string is asked for"),
        ({"id": "b", "tool": "read", "args": {"path": "${a}", "limt": 2}}, "steps[1].args.limt", "'limit'"),
        ({"id": "b", "tool": "read", "args": {"path": "a", "limit": 0}}, "steps[1].args.limit", "at least 1"),
        ({"id": "b", "tool": "read", "args": {"path": "a", "limit": "n${a}"}}, "steps[1].args.limit", "a text"),
        (read("b", "${aa.x}"), "steps[1].args.path", "did you mean 'a'?"),
        (read("b", "${item}"), "steps[1].args.path", "for_each"),
        (read("b", "${inputs.x}"), "steps[1].args.path", "no input 'x'"),
        (read("b", "${end}"), "steps[1].args.path", "finally"),
        (read("b", "${HOME:-x}"), "steps[1].args.path", "$${"),
        (read("b", when="${a} ="), "steps[1].when", "equal is =="),
        (read("b", when="${zz}"), "steps[1].when", "no step 'zz'"),
        (read("b", when="${item} == 1", for_each=[1]), "steps[1].when", "asked once"),
        (read("b", for_each="${a} x"), "steps[1].for_each", "a reference to one"),
        (read("b", for_each={"a": 1}), "steps[1].for_each", "a list"),
        (read("b", for_each="${item}"), "steps[1].for_each", "for_each"),
        (read("b", max_parallel=2), "steps[1].max_parallel", "for_each"),
        (read("b", depends_on=("a", "a?")), "steps[1].depends_on[0]", "more than once"),
        (read("b", depends_on=("end",)), "steps[1].depends_on[0]", "finally"),
        (read("b", depends_on=("b",)), "steps[1]", "b -> b"),
        ({"id": "b", "prompt": "p", "output": {"type": "text"}}, "steps[1].output.type", 'type: is "text", not'),
        (read("b", {"x": [float("inf")]}), "steps[1].args.path.x[0]", "no number in JSON"),
        (read("b", 10**5000), "steps[1].args.path", "too many digits"),
        ({"id": "b", "prompt": "\ud83d"}, "steps[1].prompt", "no UTF-8"),
        ({"id": "b", "prompt": "p", "output": {"$ref": "#/$defs/x"}}, "steps[1].output.$ref", "nowhere"),
    ],
)
def test_each_kind_of_fault_is_told_with_its_place(step: dict[str, Any], place: str, says: str) -> None:
    found = faults_of(read("a"), step, finally_steps=(Step(**read("end")),))
    assert [where for where, _ in found] == [place], found
    assert says in found[0][1]


def test_a_longer_cycle_is_named() -> None:
    found = faults_of(read("a", "${b}"), read("b", depends_on=("c",)), read("c", when="${a}"))
    assert [message for _, message in found] == [
        'steps wait for one another: a -> b -> c -> a (-> is "waits for")'
    ]


def test_an_agent_that_can_not_be_used_says_why() -> None:
    found = faults_of(
        {"id": "a", "agent": "x:y", "task": "t"}, agents=lambda name: f"agent {name!r}: no such file"
    )
    assert found == [("steps[0].agent", "agent 'x:y': no such file")]


def test_a_finally_step_names_only_finally_steps_and_the_outputs_only_the_others() -> None:
    end = Step(**read("end", depends_on=("a",)))
    found = faults_of(read("a"), finally_steps=(end,), outputs={"x": "${end}"})
    assert [place for place, _ in found] == ["finally[0].depends_on[0]", "outputs.x"]


def test_a_default_is_of_its_type() -> None:
    inputs = {"n": PlanInput(type="integer", default="3"), "free": PlanInput(type="list", required=False)}
    assert faults_of(read("a"), inputs=inputs) == [
        ("inputs.n.default", "input 'n': its default is a string (\"3\"), where integer is asked for")
    ]


def test_an_input_that_nothing_uses_is_found() -> None:
    inputs = {"a": PlanInput(), "b": PlanInput(), "c": PlanInput()}
    steps = (Step(**read("s", "${inputs.a}", when="${inputs.b}")),)
    assert unused_inputs(Plan(name="p", steps=steps, inputs=inputs)) == ("c",)
    assert unused_inputs(Plan(name="p", steps=steps, inputs=inputs, outputs={"x": "${inputs}"})) == ()


def test_a_large_plan_full_of_mistakes_is_told_of_them_with_a_near_miss_each() -> None:
    steps = [read(f"step_{n}", f"${{stp_{n}}}") for n in range(2_000)]
    found = faults_of(*steps)
    assert len(found) == 2_000
    assert all(f"did you mean 'step_{n}'?" in message for n, (_, message) in enumerate(found))
