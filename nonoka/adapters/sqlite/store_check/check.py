"""Asks for what breaks a rule of the store: one query each, all as of one moment. The app calls ``check``."""

from __future__ import annotations

import sqlite3
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

from nonoka.adapters.sqlite import schema
from nonoka.adapters.sqlite.connection import Connection
from nonoka.adapters.sqlite.queries import named_statements
from nonoka.adapters.sqlite.store_check.repairs import REPAIRS
from nonoka.errors import StoreDamaged, StoreError
from nonoka.records.condition import CheckedRule

SOUND_FILE = "the file is a sound database"
OF_A_SESSION = "every row is of a session"
_RESTORE = "put a copy made by nonoka backup in its place: docs/operations.md"
_BY_ITSELF = "nothing to do: it is mended before the session's next model request"
_REMEDIES = {
    SOUND_FILE: _RESTORE,
    OF_A_SESSION: "nonoka doctor --check-store --repair",
    "a state is of its session": _RESTORE,
    "a conversation has no gap": _BY_ITSELF,
    "a call has its result right after it": _BY_ITSELF,
    "a result answers a call": _BY_ITSELF,
    "an open turn is in the conversation": "go on in a new session: nonoka sessions show says what it held",
}


@cache
def invariants() -> dict[str, str]:
    """The query of each rule, by the rule's name."""
    return named_statements(files(__package__).joinpath("invariants.sql").read_text(encoding="utf-8"))


async def check(path: Path, *, now_ms: int, repair: bool = False) -> list[CheckedRule]:
    """Every rule with what breaks it, repaired where that was asked for and can be.

    Each repair is one transaction, which asks again: what living workers changed meanwhile is left alone.
    Raises StoreError, where the file can't be read at all or has another schema.
    """
    db = await Connection.opened(path)
    try:
        version = await db.outside(schema.version_of)
        schema.refuse_newer(version, str(path))
        if version != schema.newest_version():
            raise StoreError(
                f"the store {path} has schema {version}; first bring it up to date: nonoka sessions list"
            )
        found = await _looked_at(db)
        return [await _repaired(db, rule, now_ms) for rule in found] if repair else found
    finally:
        await db.close()


async def _looked_at(db: Connection) -> list[CheckedRule]:
    try:
        return await db.read(lambda c: [_rule(name, _broken(c, name)) for name in _all()])
    except StoreDamaged as error:
        # So damaged that it can't even be asked.
        return [_rule(SOUND_FILE, (str(error).partition(";")[0],))]


async def _repaired(db: Connection, rule: CheckedRule, now_ms: int) -> CheckedRule:
    repair = REPAIRS.get(rule.rule)
    if not rule.broken or repair is None:
        return rule
    try:
        return await db.write(partial(_repair, rule=rule, now_ms=now_ms), durable=True)
    except StoreDamaged:
        return rule


def _repair(db: sqlite3.Connection, *, rule: CheckedRule, now_ms: int) -> CheckedRule:
    rows = _rows(db, rule.rule)
    if not rows:
        return rule.model_copy(update={"repaired": "it holds by now: somebody else saw to it"})
    done = REPAIRS[rule.rule](db, [str(row[0]) for row in rows], now_ms)
    if _rows(db, rule.rule):
        return rule
    return rule.model_copy(update={"repaired": done, "remedy": None})


def _all() -> tuple[str, ...]:
    return SOUND_FILE, OF_A_SESSION, *invariants()


def _rule(name: str, broken: tuple[str, ...]) -> CheckedRule:
    remedy = _REMEDIES.get(name, "nonoka doctor --check-store --repair") if broken else None
    return CheckedRule(rule=name, broken=broken, remedy=remedy)


def _broken(db: sqlite3.Connection, name: str) -> tuple[str, ...]:
    return tuple(f"{row[0]}: {row[1]}" if row[1] is not None else str(row[0]) for row in _rows(db, name))


def _rows(db: sqlite3.Connection, name: str) -> list[tuple[str, str | None]]:
    """(what, about) of each breach; what a repair works on is the first."""
    if name == SOUND_FILE:
        return [(row[0], None) for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    if name == OF_A_SESSION:
        tables = [row[0] for row in db.execute("PRAGMA foreign_key_check")]
        return [(table, f"{tables.count(table)} rows of no session") for table in sorted(set(tables))]
    return [(row["session_id"], row["about"]) for row in db.execute(invariants()[name])]
