"""The contract of ``sessions list --json``; ``sessions show --json`` begins with the same keys."""

from __future__ import annotations

from nonoka.records.base import JsonObject
from nonoka.records.commit import SessionLine
from nonoka.records.session import SessionIndex


def line_contract(line: SessionLine) -> JsonObject:
    """One session of a list."""
    return head_contract(line.index, line.status)


def head_contract(index: SessionIndex, status: str) -> JsonObject:
    """What a session is, and its status; times are ms UTC."""
    return {
        "session_id": index.session_id,
        "status": status,
        "kind": index.kind,
        "agent": index.agent,
        "model": index.model,
        "working_dir": index.working_dir,
        "created_at": index.created_at,
        "last_active": index.last_active,
        "title": index.title,
    }
