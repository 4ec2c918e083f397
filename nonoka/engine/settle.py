"""Settling: what a call started is ended before anything else is decided about it."""

from __future__ import annotations

from collections.abc import Iterable

from nonoka.decisions.calls import idempotency_key
from nonoka.ports.processes import Processes
from nonoka.records.tool import CallState


def call_mark(session_id: str, call: CallState) -> str:
    """What everything that this attempt of a call starts carries in its environment."""
    return f"{idempotency_key(session_id, call.turn, call.place)}#{call.attempt}"


async def end_processes(processes: Processes, session_id: str, calls: Iterable[CallState]) -> int:
    """No process of the begun calls lives any more; returns how many were ended.

    Raises NonokaError, naming them, where some can't be ended from here.
    """
    ended = 0
    for call in calls:
        if call.status == "begun":
            ended += await processes.end(call.processes, call_mark(session_id, call))
    return ended
