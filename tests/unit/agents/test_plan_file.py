"""Plan files: short forms, every mistake at once with its line, and the same plan back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nonoka.agents.agent import Agent
from nonoka.agents.plan_document import document_of, plan_schema
from nonoka.agents.plan_file import plan_from_text, values_from_text
from nonoka.agents.plan_tools import agent_complaints, argument_schemas, plan_tools
from nonoka.agents.registry import Registry
from nonoka.decisions.json_schema import schema_faults
from nonoka.decisions.plan_check import demand_sound
from nonoka.decisions.plan_references import ref
from nonoka.errors import ExpressionInvalid, PlanInvalid
from nonoka.records.plan import Plan, PlanInput, Retry, Step
from nonoka.records.tool import Effect

ROOT = Path(__file__).parents[3]
SCHEMAS = argument_schemas(plan_tools(Agent("a")))

WHOLE = """\
name: whole
max_parallel: 4
inputs:
  since: string
  free:
  count: {type: integer, default: 3, description: how many}
steps:
  - id: log
    name: Read the history
    tool: run_command
    args: {command: "git log ${inputs.since}..", timeout_s: 5}
    retry: {attempts: 3, backoff: 1m, on: timeout}
    timeout: 1h30m
    effect: read_only
    on_failure: continue
  - id: each
    prompt: Sum up ${item} of ${inputs.free}, at most ${inputs.count}
    for_each: ["a", "b"]
    max_parallel: 2
    depends_on: log?
    output: {type: object, properties: {text: {type: string}}}
    when: false
    retry: 2
  - id: ask
    agent: default
    task: $${not} a reference
    depends_on: [each]
finally:
  - {id: tidy, tool: list_files}
outputs:
  answer: ${ask}
"""


def plan_of(text: str, name: str = "f.yaml") -> Plan:
    return plan_from_text(text, name, SCHEMAS, agent_complaints(Registry()))


def errors_of(text: str) -> list[str]:
    with pytest.raises(PlanInvalid) as raised:
        plan_of(text)
    return raised.value.errors


def test_a_file_with_every_key_is_read() -> None:
    assert plan_of(WHOLE) == Plan(
        name="whole",
        max_parallel=4,
        inputs={
            "since": PlanInput(type="string"),
            "free": PlanInput(),
            "count": PlanInput(type="integer", default=3, required=False, description="how many"),
        },
        steps=(
            Step(
                id="log",
                name="Read the history",
                tool="run_command",
                args={"command": "git log ${inputs.since}..", "timeout_s": 5},
                retry=Retry(attempts=3, backoff_s=60, on=("timeout",)),
                timeout_s=5400,
                effect=Effect.READ_ONLY,
                on_failure="continue",
            ),
            Step(
                id="each",
                prompt="Sum up ${item} of ${inputs.free}, at most ${inputs.count}",
                for_each=["a", "b"],
                max_parallel=2,
                depends_on=("log?",),
                output={"type": "object", "properties": {"text": {"type": "string"}}},
                when="false",
                retry=Retry(attempts=2),
            ),
            Step(id="ask", agent="default", task="$${not} a reference", depends_on=("each",)),
        ),
        finally_steps=(Step(id="tidy", tool="list_files"),),
        outputs={"answer": "${ask}"},
    )


def test_a_plan_written_as_a_file_is_read_back_as_it_was() -> None:
    plan = plan_of(WHOLE)
    assert plan_of(json.dumps(document_of(plan)), "f.json") == plan


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines() -> None:
    assert errors_of(
        """\
inputs: {n: integr}
steps:
  - id: a
    tool: run_commnd
    needs: [b]
  - prompt: ${a.x} and ${aa}
    timeout: soon
    on_failure: maybe
  - text
  - id: b
    retry: {attempts: 0, backof: 3}
    depends_on: [c]
    tool: read_file
    args: {path: 3, lines: 5}
finaly: []
"""
    ) == [
        "f.yaml:1: 'name' is missing",
        "f.yaml:1: inputs.n.type: should be 'string', 'integer', 'number', 'boolean', 'list', 'object' or 'any',"
        " not 'integr'",
        "f.yaml:4: step 'a': there is no tool 'run_commnd'; did you mean 'run_command'?",
        "f.yaml:5: step 'a': there is no key 'needs' here; did you mean 'depends_on'?",
        "f.yaml:6: steps[1]: 'id' is missing",
        "f.yaml:6: step 'step-1': ${aa}: there is no step 'aa'; did you mean 'a'?",
        "f.yaml:7: steps[1]: timeout: 'soon' is no duration; write seconds, or 90s, 5m, 1h30m",
        "f.yaml:8: steps[1]: on_failure: should be 'fail', 'continue' or 'skip', not 'maybe'",
        "f.yaml:9: steps[2]: is 'text', where an object is asked for",
        "f.yaml:11: step 'b': retry.attempts: should be greater than or equal to 1, not 0",
        "f.yaml:11: step 'b': there is no key 'backof' here; did you mean 'backoff'?",
        "f.yaml:12: step 'b': depends_on names no step 'c'",
        "f.yaml:14: step 'b': read_file: path: is an integer (3), where string is asked for",
        "f.yaml:14: step 'b': read_file: lines: there is no 'lines'; there are: path, offset, limit",
        "f.yaml:15: there is no key 'finaly' here; did you mean 'finally'?",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f.yaml:1: a plan is an object with name and steps"),
        ("- a", "f.yaml:1: a plan is an object with name and steps"),
        ("name: x", "f.yaml:1: 'steps' is missing"),
        ("name: x\nsteps: []", "f.yaml:2: a plan has at least one step"),
        ("name: x\nsteps: {a: {tool: t}}", "f.yaml:2: steps: is {'a': {'tool': 't'}}, where a list is asked for"),
        ("name: 3\nsteps: [{id: a, tool: list_files}]", "f.yaml:1: name: should be a valid string, not 3"),
        ("name: x\nsteps:\n- id: a\n  agent: default", "f.yaml:4: step 'a': an agent needs a task"),
        ("name: x\nsteps:\n- id: a\n  task: t\n  agent: nope.py:x", "f.yaml:5: agent 'nope.py:x': "),
        (
            "name: x\nsteps:\n- id: a\n  tool: list_files\n  when: ${b",
            "f.yaml:5: step 'a': when: a reference",
        ),
        ("name: x\nsteps:\n- id: a\n  tool: 5", "f.yaml:4: step 'a': tool: should be a valid string, not 5"),
    ],
)
def test_each_mistake_is_told_once_with_its_line(text: str, error: str) -> None:
    found = errors_of(text)
    assert len(found) == 1, found
    assert found[0].startswith(error)


def test_an_input_file_is_an_object_of_values() -> None:
    assert values_from_text("a: 1\nb: [x, no]\n", "in.yaml") == {"a": 1, "b": ["x", "no"]}
    with pytest.raises(PlanInvalid, match=r"^in.yaml:1: an input file is an object"):
        values_from_text("3", "in.yaml")


def test_the_published_schema_is_current() -> None:
    """Run ``nonoka plan schema > docs/plan.schema.json`` after a change."""
    published = json.loads((ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8"))
    assert published == plan_schema()
    assert schema_faults(published) == []


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    defs = plan_schema()["$defs"]
    assert isinstance(defs, dict)
    for found in (plan_schema(), defs["StepInFile"], defs["RetryInFile"], defs["PlanInput"]):
        assert isinstance(found, dict)
        keys = found["properties"]
        assert isinstance(keys, dict)
        assert [key for key in keys if f"`{key}`" not in page] == []


def test_a_plan_is_written_in_python_with_references() -> None:
    plan = Plan(
        name="p",
        steps=(
            Step(id="fetch", tool="list_files"),
            Step(
                id="read",
                tool="read_file",
                args={"path": ref("fetch.items[0]['a b']"), "limit": ref("inputs.n")},
                when=f"{ref('fetch')} != ''",
            ),
        ),
        inputs={"n": PlanInput(type="integer")},
    )
    assert plan.steps[1].args == {"path": '${fetch.items[0]["a b"]}', "limit": "${inputs.n}"}
    demand_sound(plan, SCHEMAS)
    with pytest.raises(PlanInvalid, match=r"^steps\[0\].tool: step 'x': there is no tool 'none'"):
        demand_sound(Plan(name="p", steps=(Step(id="x", tool="none"),)), SCHEMAS)


@pytest.mark.parametrize("path", ["", "a.", "a}b", "a b", "${a}", "1a"])
def test_what_is_no_path_is_refused_where_it_is_written(path: str) -> None:
    with pytest.raises(ExpressionInvalid):
        ref(path)
