"""Copies the sessions of nonoka 1.3.8 into the tables of this one. ``schema.migrate`` calls it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nonoka.adapters.sqlite import checkpoints, cli_sessions, events, memory_entries, tasks
from nonoka.adapters.sqlite.adoption.conversation import entries_of
from nonoka.adapters.sqlite.adoption.legacy_file import LegacySession, sessions
from nonoka.agents.plain_value import clean_text
from nonoka.decisions.titles import title_of
from nonoka.records.event import EventType, NewEvent
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import RuntimeUsage, SessionRuntimeState, Termination
from nonoka.records.session import SessionIndex, SessionState, SessionStatus

#: What it called ended; everything else waits for a person, for nobody works on it any more.
_ENDED = {"completed", "failed", "cancelled"}
_PROVIDERS = {"anthropic"}


def adopt(db: sqlite3.Connection, path: Path, now_ms: int) -> list[str]:
    """Each session that was set aside is one of ours, in the caller's transaction; returns their ids."""
    found = []
    for old in sessions(db):
        _copy(db, old, _project_of(path), now_ms)
        found.append(old.session_id)
    return found


def _copy(db: sqlite3.Connection, old: LegacySession, project: Path, now_ms: int) -> None:
    entries, unanswered = entries_of(old)
    index, state = _index(old, project, entries), _state(old, now_ms)
    checkpoints.insert(db, state)
    cli_sessions.insert(db, index)
    memory_entries.append(db, old.session_id, entries)
    turns = sum(entry.role is MemoryRole.ASSISTANT for entry in entries)
    if turns:
        # Turn numbers are never used again: the calls above are named by them.
        tasks.insert_finished_turn(db, old.session_id, turns)
    made = {"agent": index.agent, "model": index.model, "working_dir": index.working_dir}
    events.append(db, old.session_id, [NewEvent(type=EventType.SESSION_CREATED, data=made)], index.created_at)
    why = "it was written by nonoka 1.3.8 and adopted"
    if unanswered:
        why += f"; {unanswered} of its calls had no result"
    events.append(db, old.session_id, [NewEvent(type=EventType.SESSION_REPAIRED, data={"why": why})], now_ms)


def _index(old: LegacySession, project: Path, entries: list[MemoryEntry]) -> SessionIndex:
    row = old.index or {}
    prompt = next((entry.content for entry in entries if entry.role is MemoryRole.USER), "")
    generation = (old.state.get("trace") or {}).get("generation") or {}
    started = _ms(old.state.get("start_time")) or _ms(old.created_at, utc=True) or 0
    return SessionIndex(
        session_id=old.session_id,
        title=title_of(clean_text(str(row.get("name") or prompt))),
        working_dir=str(project),
        agent="default",
        model=_model(str(row.get("model") or generation.get("model") or "unknown")),
        created_at=started,
        last_active=_ms(old.state.get("end_time")) or _ms(old.updated_at, utc=True) or started,
        metadata={"adopted_from": "nonoka 1.3.8"},
    )


def _state(old: LegacySession, now_ms: int) -> SessionState:
    was = str(old.state.get("status"))
    status = SessionStatus(was) if was in _ENDED else SessionStatus.PAUSED
    ended = _ms(old.state.get("end_time"))
    runtime = old.state.get("runtime_state") or {}
    return SessionState(
        session_id=old.session_id,
        status=status,
        start_time=_ms(old.state.get("start_time")) or _ms(old.created_at, utc=True) or 0,
        end_time=ended if was in _ENDED else None,
        turn_count=int(old.state.get("turn_count") or 0),
        runtime_state=SessionRuntimeState(
            session_usage=_usage(runtime.get("usage") or {}),
            termination=_termination(status, ended or now_ms, runtime.get("termination") or {}),
        ),
    )


def _termination(status: SessionStatus, at: int, was: dict[str, Any]) -> Termination:
    reason, message = str(was.get("reason") or ""), clean_text(str(was.get("message") or ""))
    match status:
        case SessionStatus.COMPLETED:
            return Termination(reason="completed", at=at)
        case SessionStatus.CANCELLED:
            return Termination(reason="cancelled", at=at)
        case SessionStatus.FAILED:
            limit = reason.endswith(("exhausted", "exceeded"))
            error = "limit_reached" if limit else "internal_error"
            told = message or "it failed in nonoka 1.3.8, which did not keep why"
            return Termination(reason="failed", at=at, error_type=error, message=told)
        case _:
            told = "it ran in nonoka 1.3.8, whose process is gone; see what it did before it goes on"
            return Termination(reason="paused", at=at, message=told)


def _usage(was: dict[str, Any]) -> RuntimeUsage:
    return RuntimeUsage(
        model_turns=int(was.get("model_turns") or 0),
        tool_calls=int(was.get("tool_calls") or 0),
        input_tokens=int(was.get("input_tokens") or 0),
        output_tokens=int(was.get("output_tokens") or 0),
        cost_usd=float(was.get("cost_usd") or 0.0),
    )


def _model(name: str) -> str:
    # It named models as LiteLLM does: provider/name, or a name alone, which is OpenAI's.
    provider, slash, rest = name.partition("/")
    if not slash:
        return f"openai:{name}"
    return f"{provider}:{rest}" if provider in _PROVIDERS else f"openai:{rest}"


def _ms(text: object, *, utc: bool = False) -> int | None:
    """A time of its as ms UTC. It wrote local ones without a zone; only SQLite's own, of two columns, are UTC."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None and utc:
        found = found.replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)


def _project_of(path: Path) -> Path:
    # It kept its file in <project>/.nonoka; what lies elsewhere says nothing about where it worked.
    home = path.absolute().parent
    return home.parent if home.name == ".nonoka" else home
