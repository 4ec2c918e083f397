"""What a step's attempt works with and does: references put in place, then a tool, a model or a child session."""

from __future__ import annotations

import dataclasses
import functools
import json
from dataclasses import dataclass

from pydantic import JsonValue

from nonoka.agents.agent import Agent
from nonoka.agents.plain_value import plain_value
from nonoka.agents.plan_tools import plan_tools
from nonoka.agents.tool import Tool
from nonoka.decisions.json_schema import schema_faults
from nonoka.decisions.plan_references import (
    INDEX,
    INPUTS,
    ITEM,
    NO_RESULT,
    NoResult,
    as_text,
    references_in,
    resolve,
)
from nonoka.decisions.plan_shape import Shape, shape_of
from nonoka.engine.execution import Brought, Execution
from nonoka.engine.ports import Ports
from nonoka.engine.step_child import new_child
from nonoka.engine.step_prompt import answered
from nonoka.errors import ToolFailure, UsageError, ValueMissing
from nonoka.records.base import JsonObject
from nonoka.records.commit import Claim, NewSession, SessionView
from nonoka.records.plan import Step
from nonoka.records.step import StepError, StepOutcome, StepValueGot
from nonoka.records.step_run import StepInputs, StepRun, call_of
from nonoka.records.tool import CallResult, CallStart, Effect

#: What a step may bring: its result is read by every step that refers to it.
MAX_RESULT_BYTES = 8 * 1024 * 1024
#: What the event that a step begins shows of its arguments.
SHOWN_CHARACTERS = 2_000
_FAULTS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool with checked values. ``shown`` is what an event tells of them."""

    start: CallStart
    tool: Tool
    values: dict[str, object]
    shown: JsonValue

    @property
    def name(self) -> str:
        """What runs."""
        return self.tool.name


@dataclass(frozen=True, slots=True)
class PromptRun:
    """What a model is asked; a request that was lost is sent again."""

    prompt: str
    output: JsonObject | None
    shown: JsonValue
    name: str

    @property
    def start(self) -> CallStart:
        """Nothing changes by it."""
        return CallStart(place=0, effect=Effect.READ_ONLY, on_uncertain="replay")


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A session of its own, as it will be stored."""

    child: NewSession
    shown: JsonValue


#: How a step begins.
Prepared = ToolRun | PromptRun | ChildRun


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """One attempt of a step, or of an item of it, under this claim."""

    ports: Ports
    claim: Claim
    view: SessionView
    agent: Agent

    async def prepared(self) -> Prepared | StepError:
        """How it begins; or why it can't, which no other attempt would change."""
        step = self._step
        try:
            asked: JsonValue = [step.prompt, step.output] if step.kind == "prompt" else step.task
            what: JsonValue = step.args if step.kind == "tool" else asked
            given = await self._resolved(what)
        except ValueMissing as missing:
            return StepError(error_type="invalid_arguments", message=str(missing))
        if step.kind == "tool":
            return self._tool_with(given)
        if isinstance(given, list):
            return self._prompt_with(*given)
        try:
            child = new_child(self.ports, self.view, self._run, step, as_text(given))
        except UsageError as error:
            return StepError(error_type="agent_unloadable", message=str(error))
        return ChildRun(child=child, shown=_shown(given))

    async def items(self) -> list[JsonValue] | StepError:
        """What the step is fanned out over."""
        try:
            found = await self._resolved(self._step.for_each)
        except ValueMissing as missing:
            return StepError(error_type="invalid_arguments", message=str(missing))
        if not isinstance(found, list):
            shown = json.dumps(found, ensure_ascii=False)[:80]
            return StepError(error_type="invalid_arguments", message=f"for_each is no list but {shown}")
        return found

    async def outcome(self, prepared: ToolRun | PromptRun) -> StepOutcome:
        """What the begun attempt brought. Raises as ``Execution.run``, and ModelFailure."""
        if isinstance(prepared, PromptRun):
            return await answered(self.ports, self.view, self._step, prepared.prompt, prepared.output)
        execution = Execution(
            ports=self.ports,
            claim=self.claim,
            view=self.view,
            call=call_of(self._run),
            agent=self.agent,
            tool=prepared.tool,
            timeout_s=self._step.timeout_s,
            within_deadline=self._run.step not in self._shape.finally_steps,
            finish=plain_value,
        )
        found = await execution.brought(prepared.values)
        return _kept(found.value) if isinstance(found, Brought) else _failed(found)

    def _prompt_with(self, prompt: JsonValue, output: JsonValue) -> PromptRun | StepError:
        schema = output if isinstance(output, dict) else None
        # one without references was checked before the plan was stored
        if schema != self._step.output and (faults := schema_faults(schema)):
            told = "; ".join(map(str, faults[:_FAULTS_SHOWN]))
            return StepError(error_type="invalid_arguments", message=f"output is no JSON Schema: {told}")
        name = self.view.index.model
        return PromptRun(prompt=as_text(prompt), output=schema, shown=_shown(prompt), name=name)

    def _tool_with(self, args: JsonValue) -> ToolRun | StepError:
        tool = plan_tools(self.agent).get(self._step.tool or "")
        if tool is None:
            return StepError(error_type="unknown_tool", message=f"there is no tool {self._step.tool!r} here")
        if self._step.effect is not None:
            tool = dataclasses.replace(tool, effect=self._step.effect)
        try:
            values = tool.validated(args if isinstance(args, dict) else {})
        except ToolFailure as failure:
            return StepError(error_type="invalid_arguments", message=str(failure))
        start = CallStart(place=0, effect=tool.effect, on_uncertain=tool.on_uncertain)
        return ToolRun(start=start, tool=tool, values=values, shown=_shown(args))

    async def _resolved(self, value: JsonValue) -> JsonValue:
        wanted = sorted({reference.head for reference in references_in(value)} & self._shape.steps.keys())
        inputs = await self.ports.store.step_inputs(self.claim.session_id, self._run, wanted)
        return resolve(value, functools.partial(_looked_up, inputs, self._run))

    @property
    def _run(self) -> StepRun:
        if self.view.step is None:
            raise TypeError(f"task {self.claim.task_id!r} is no step's")
        return self.view.step

    @property
    def _step(self) -> Step:
        return self._shape.steps[self._run.step]

    @property
    def _shape(self) -> Shape:
        if self.view.plan is None:
            raise TypeError(f"session {self.claim.session_id!r} has no plan")
        return shape_of(self.view.plan.definition)


def _looked_up(inputs: StepInputs, run: StepRun, head: str) -> JsonValue | NoResult:
    if head == INPUTS:
        return inputs.inputs
    if head == ITEM:
        return inputs.item
    if head == INDEX:
        return run.item
    return inputs.results.get(head, NO_RESULT)


def _kept(value: object) -> StepOutcome:
    plain: JsonValue = value  # type: ignore[assignment]  # plain_value made it
    size = len(json.dumps(plain, ensure_ascii=False).encode())
    if size > MAX_RESULT_BYTES:
        message = f"{size} bytes of JSON; a step may bring {MAX_RESULT_BYTES}: let it write a file"
        return StepError(error_type="result_too_large", message=message)
    return StepValueGot(value=plain)


def _failed(found: CallResult) -> StepError:
    raised = found.content.partition(":")[0] if found.error_type == "tool_failed" else None
    return StepError(
        error_type=found.error_type or "failed", message=found.content, traceback=found.traceback, raised=raised
    )


def _shown(args: JsonValue) -> JsonValue:
    text = json.dumps(args, ensure_ascii=False)
    return args if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
