"""A failed plan is taken up again, perhaps edited: which steps run once more, and what they wait for now."""

from __future__ import annotations

import json

from nonoka.decisions.draft import Draft
from nonoka.decisions.plan_difference import PlanDifference, changed_inputs, difference
from nonoka.decisions.plan_draft import PlanDraft
from nonoka.decisions.plan_flow import PLAN_FAILED, doom, may_begin, plan_of
from nonoka.decisions.plan_start import digest_of
from nonoka.records.base import JsonObject
from nonoka.records.event import EventType
from nonoka.records.plan import Plan
from nonoka.records.session import StepStatus
from nonoka.records.step_run import NewPlan, StepRun

_FRESH = {
    "reason": None,
    "tries": 0,
    "error_type": None,
    "message": None,
    "traceback": "",
    "child": None,
    "started_at": None,
    "ended_at": None,
}
_UNENDED = (StepStatus.PENDING, StepStatus.RUNNING, StepStatus.CANCELLED)
#: Why a step that an edit took out of the plan is skipped.
REMOVED = "removed"


def take_up(draft: Draft, asked: JsonObject) -> list[StepRun]:
    """The steps that failed, and the one that is asked ``from``, and all that wait for them, are to run again.

    With ``from``, of the failed ones only those that made the plan fail.

    So are those that the plan's failure skipped, the ``finally`` ones, and where ``asked`` has an edited ``plan``
    (and its ``inputs``, both as JSON) those that are new or have changed. What else was completed stays. Returns
    what is over at once.
    """
    plan = plan_of(draft)
    plan.note(taken_up=plan.progress.taken_up + 1)
    edit = _edited(draft, asked) if "plan" in asked else PlanDifference()
    begin_with = asked.get("from")
    rows = {step: plan.run(step) for step in plan.shape.steps}
    failed = {s for s, r in rows.items() if r.status in (StepStatus.FAILED, StepStatus.CANCELLED)}
    if begin_with:
        # a plan can't complete beside a step whose failure is its own: that one runs again in any case
        failed = {step for step in failed if plan.shape.steps[step].on_failure == "fail"}
    chosen = failed | ({str(begin_with)} & rows.keys())
    left = {s for s, r in rows.items() if r.status in _UNENDED or r.reason == PLAN_FAILED}
    again = plan.shape.with_dependents(chosen | left | {*edit.changed, *edit.added} | plan.shape.finally_steps)
    for step in again:
        waits = any(name in again for name in plan.shape.before(step))
        keep_items = step not in (begin_with, *edit.changed) and not waits
        _reset(plan, rows[step], again, keep_items=keep_items, differs=step in edit.changed)
    plan.note(
        open=len(again - plan.shape.finally_steps),
        open_finally=len(plan.shape.finally_steps),
        finally_begun=False,
        failed_step=None,
        error_type=None,
        message=None,
    )
    if "plan" in asked:
        _tell_edit(draft, edit, again)
    over: list[StepRun] = []
    for step in plan.shape.places:
        run = plan.run(step)
        if step in again and run.missing == 0:
            over += may_begin(draft, run)
    return over


def _edited(draft: Draft, asked: JsonObject) -> PlanDifference:
    """The plan is the one that was asked for; its new steps have rows, and those that are gone are over."""
    plan = plan_of(draft)
    new = Plan.model_validate_json(str(asked["plan"]))
    before = plan.rows.inputs()
    inputs: JsonObject = json.loads(str(asked["inputs"])) if "inputs" in asked else before
    found = difference(plan.shape.plan, new, changed_inputs(before, inputs))
    for step in found.removed:
        run = plan.run(step)
        plan.put(run, status=StepStatus.SKIPPED, phase="over", reason=REMOVED, begun=False)
    plan.edit(NewPlan(number=plan.progress.number, digest=digest_of(new), plan=new, inputs=inputs))
    draft.state = draft.state.model_copy(update={"step_count": len(plan.shape.steps)})
    return found


def _tell_edit(draft: Draft, edit: PlanDifference, again: set[str]) -> None:
    kept = plan_of(draft).shape.steps.keys() - again
    told: JsonObject = {"again": [*sorted(again)], "kept": [*sorted(kept)], "told": edit.told()}
    draft.tell(EventType.PLAN_CHANGED, **edit.model_dump(mode="json"), **told)


def _reset(plan: PlanDraft, run: StepRun, again: set[str], *, keep_items: bool, differs: bool) -> None:
    before = plan.shape.before(run.step)
    waits = sum(name in again for name in before) + (run.step in plan.shape.finally_steps)
    ended = [plan.run(name) for name in before if name not in again]
    dooms = (doom(plan, run, other) for other in ended)
    reason = next((why for why in dooms if why is not None), None)
    done = run.status is StepStatus.COMPLETED
    spread = run.items is not None
    fresh: dict[str, object] = {
        **_FRESH,
        "status": StepStatus.PENDING,
        "phase": "blocked",
        "missing": waits,
        "reason": reason,
        "rounds": run.rounds + (done or differs or (spread and not keep_items)),
    }
    if spread and keep_items:
        fresh |= _kept_items(plan, run)
    else:
        fresh |= {"items": None, "laid": 0, "open_items": 0, "next_item": 0, "let_go": 0}
    plan.put(run, **fresh)


def _kept_items(plan: PlanDraft, run: StepRun) -> dict[str, object]:
    rows = [item for item in plan.rows.items(run.step) if item.status is not StepStatus.COMPLETED]
    for item in rows:
        plan.put(item, **_FRESH, status=StepStatus.PENDING, phase="held", begun=False)
    return {"open_items": len(rows) + (run.items or 0) - run.laid, "next_item": 0, "let_go": 0}
