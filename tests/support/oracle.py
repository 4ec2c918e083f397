"""The truth about what ran, outside the store and the workspace: two files that are only appended to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nonoka.agents.context import ToolContext
from nonoka.decisions.conversation_rules import first_fault
from nonoka.ports.model import Model, Models, OnText
from nonoka.records.memory import MemoryRole
from nonoka.records.model import ModelAnswer, ModelRequest


@dataclass(frozen=True)
class Ran:
    """An attempt of a call began to have its effect. ``left_over``: processes of earlier attempts then alive."""

    tool_call_id: str
    idempotency_key: str
    attempt: int
    pid: int
    left_over: int


@dataclass(frozen=True)
class Asked:
    """A model was asked for the answer after ``answers`` earlier ones; ``fault``: "-", or why it can't be sent."""

    session_id: str
    answers: int
    fault: str


class Oracle:
    """What ran (``ran``) and what was asked (``asked``), in files of this directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def tell_ran(self, ctx: ToolContext, left_over: int = 0) -> None:
        """This attempt has its effect now."""
        line = f"{ctx.tool_call_id} {ctx.idempotency_key} {ctx.attempt} {os.getpid()} {left_over}\n"
        _append(self._directory / "ran", line)

    def tell_asked(self, request: ModelRequest) -> None:
        """This request is sent now."""
        answers = sum(entry.role is MemoryRole.ASSISTANT for entry in request.entries)
        fault = first_fault(request.entries) or "-"
        _append(self._directory / "asked", f"{request.session_id} {answers} {fault}\n")

    def ran(self, session_id: str = "") -> list[Ran]:
        """Every attempt in its order; with an id, that session's."""
        found = [line.split() for line in _lines(self._directory / "ran")]
        ran = [Ran(id_, key, int(attempt), int(pid), int(left)) for id_, key, attempt, pid, left in found]
        return [one for one in ran if one.idempotency_key.startswith(session_id)]

    def asked(self, session_id: str = "") -> list[Asked]:
        """Every request in its order; with an id, that session's."""
        found = [line.split(" ", 2) for line in _lines(self._directory / "asked")]
        return [Asked(id_, int(n), fault) for id_, n, fault in found if id_.startswith(session_id)]


class RecordingModels:
    """A ``Models`` port that tells the oracle of each request before it is sent."""

    def __init__(self, inner: Models, oracle: Oracle) -> None:
        self._inner = inner
        self._oracle = oracle

    def normalized(self, name: str) -> str:
        return self._inner.normalized(name)

    def check(self, name: str) -> None:
        self._inner.check(name)

    async def get(self, name: str) -> Model:
        return _RecordingModel(await self._inner.get(name), self._oracle)


class _RecordingModel:
    def __init__(self, inner: Model, oracle: Oracle) -> None:
        self._inner = inner
        self._oracle = oracle

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        self._oracle.tell_asked(request)
        return await self._inner.respond(request, on_text)


def _append(path: Path, line: str) -> None:
    # One write with O_APPEND: whole, and in its place, whoever else writes.
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
