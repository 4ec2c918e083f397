"""A plan that was edited before its session is taken up again: how it differs, and what the session is told."""

from __future__ import annotations

import asyncio
import json

from nonoka.app import open_store
from nonoka.decisions.plan_difference import changed_inputs, difference
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.plan.options import PlanChoice
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.commit import SessionDetail
from nonoka.settings import Settings


def edited_plan(settings: Settings, wanted: str, choice: PlanChoice) -> dict[str, str]:
    """What the retry's signal says of the edited plan; the difference is told on stderr.

    Checked with the session's own agent, and with the inputs that it was started with. Raises PlanInvalid,
    UsageError.
    """
    from nonoka.decisions.plan_inputs import checked_inputs
    from nonoka.entrypoints.cli.plan.reading import checked_plan

    must_exist(settings, wanted)
    detail = asyncio.run(_detail(settings, wanted))
    if detail.plan is None:
        raise UsageError(f"session {detail.index.session_id} runs no plan: --plan can't be used with it")
    new = checked_plan(choice.file, settings.model_copy(update={"agent": detail.index.agent}))
    kept = {name: value for name, value in detail.plan.inputs.items() if name in new.inputs}
    inputs = checked_inputs(new.inputs, kept | choice.inputs(), choice.texts)
    differs = difference(detail.plan.plan, new, changed_inputs(detail.plan.inputs, inputs))
    say(f"nonoka: the plan: {differs.told()}")
    return {"plan": new.model_dump_json(), "inputs": json.dumps(inputs, ensure_ascii=False)}


async def _detail(settings: Settings, wanted: str) -> SessionDetail:
    async with open_store(settings) as (store, _):
        return await store.detail((await store.find_session(wanted)).session_id)
