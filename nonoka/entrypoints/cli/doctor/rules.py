"""The rules that hold of a sound store: what breaks one, and what was done about it."""

from __future__ import annotations

from nonoka.app import check_store
from nonoka.entrypoints.cli.doctor.finding import Finding
from nonoka.errors import StoreError
from nonoka.records.condition import CheckedRule
from nonoka.settings import Settings

#: So many breaches of a rule are named.
NAMED = 3


async def rules(settings: Settings, *, repair: bool) -> list[Finding]:
    """What was found of each rule."""
    try:
        return [_finding(rule) for rule in await check_store(settings, repair=repair)]
    except StoreError as error:
        told, _, remedy = str(error).partition("; ")
        return [Finding("rule", "wrong", told, remedy or None)]


def _finding(rule: CheckedRule) -> Finding:
    if not rule.broken:
        return Finding("rule", "ok", rule.rule)
    named = "; ".join(rule.broken[:NAMED])
    more = f"; and {len(rule.broken) - NAMED} more" if len(rule.broken) > NAMED else ""
    told = f"{rule.rule}: not so of {named}{more}"
    if rule.repaired is not None:
        return Finding("rule", "note", told, f"repaired: {rule.repaired}")
    return Finding("rule", "wrong", told, rule.remedy)
