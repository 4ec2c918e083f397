"""One attempt of one call: the tool runs within its time, and what comes of it is text that can be kept."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nonoka.agents.agent import Agent
from nonoka.agents.builtin.results import read_result
from nonoka.agents.context import ToolContext
from nonoka.agents.environment import clean_environment
from nonoka.agents.happened import Happened
from nonoka.agents.invocation import Invocation
from nonoka.agents.raised import failed_call
from nonoka.agents.result_text import capped, stored_text
from nonoka.agents.tool import Tool
from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.decisions import task_kinds
from nonoka.decisions.calls import key_of
from nonoka.decisions.settling import UNKNOWN_OUTCOME
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.engine.settle import call_mark
from nonoka.errors import ClaimLost, StoreError, WorkerUnfit
from nonoka.ports.processes import CommandResult
from nonoka.records.commit import Claim, SessionView
from nonoka.records.tool import CallResult, CallState, Effect, ProcessGroup

log = logging.getLogger(__name__)

#: How long a thread of a tool may live on after its time before the process has to end (design section 5).
THREAD_GRACE_S = 10.0
#: The same after a cancel: within 5 s of it nothing may happen any more, and to hear of it and to end take time.
CANCEL_GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class Brought:
    """What a tool returned, finished."""

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A call that is begun under this claim, and the tool that it names."""

    ports: Ports
    claim: Claim
    view: SessionView
    call: CallState
    agent: Agent
    tool: Tool
    #: What an attempt may take, where a plan's step says so instead of its tool.
    timeout_s: float | None = None
    #: Whether the session's own deadline ends it as well.
    within_deadline: bool = True
    #: What the tool returned is made into this, where it runs.
    finish: Callable[[object], object] = stored_text
    #: Commands of one call share its mark, and each ends what carries it: so one at a time.
    one_command: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Commands are this loop's, wherever their tool runs.
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    commands: set[asyncio.Task[Any]] = field(default_factory=set)

    async def run(self, values: dict[str, object]) -> CallResult:
        """Run the tool; whatever it raises is its result, and the session lives on.

        Raises WorkerUnfit where a tool that may change things can't be stopped, ClaimLost where the call is
        another worker's by now.
        """
        found = await self.brought(values)
        return self._kept(str(found.value)) if isinstance(found, Brought) else found

    async def brought(self, values: dict[str, object]) -> Brought | CallResult:
        """The same, but for what the tool returned, which ``finish`` has made of it. Raises as ``run``."""
        if self.call.doubt == "probe":
            found = await self._probed(values)
            if found is not None:
                return found
        return await self._run(values)

    async def _run(self, values: dict[str, object]) -> Brought | CallResult:
        invocation = self.tool.invoke(
            self._context(),
            values,
            deps=self.agent.deps,
            finish=self.finish,
            loops=self.ports.tool_loops,
        )
        limit_s = self._limit_s(values)
        try:
            await invocation.begin()
            async with asyncio.timeout(limit_s) as time:
                found = await invocation
        except asyncio.CancelledError:
            await self._is_over(invocation, CANCEL_GRACE_S)
            raise
        except (ClaimLost, StoreError):
            raise
        except Exception as error:  # noqa: BLE001  a tool may raise anything; the model is told
            if not time.expired():
                return failed_call(error)
            await self._is_over(invocation, THREAD_GRACE_S, overdue_s=limit_s)
            return CallResult(
                content=f"{self.tool.name} was ended after its {limit_s:g} s; its outcome may be partial",
                error_type="timeout",
            )
        finally:
            await self._commands_over()
        return Brought(found)

    async def _probed(self, values: dict[str, object]) -> Brought | CallResult | None:
        probe = self.tool.probe
        if probe is None:
            return UNKNOWN_OUTCOME
        asked = {name: values[name] for name in probe.arguments.names}
        invocation = probe.invoke(
            self._context(), asked, deps=self.agent.deps, finish=self._happened, loops=self.ports.tool_loops
        )
        try:
            await invocation.begin()
            async with asyncio.timeout(probe.timeout_s):
                found = await invocation
            return None if found is None else Brought(found)
        except (ClaimLost, StoreError):
            raise
        except Exception as error:  # noqa: BLE001  a probe may raise anything; nothing is known then
            failed = failed_call(error)
            unknown = f"{UNKNOWN_OUTCOME.content}, and its probe failed: {failed.content}"
            return failed.model_copy(update={"content": unknown, "error_type": UNKNOWN_OUTCOME.error_type})

    def _limit_s(self, values: dict[str, object]) -> float:
        limit_s = self.timeout_s or self.tool.timeout_of(values)
        deadline = self.view.state.runtime_state.deadline_at
        if deadline is not None and self.within_deadline:
            limit_s = min(limit_s, max(0.1, (deadline - self.ports.clock.now_ms()) / 1000))
        return limit_s

    def _context(self) -> ToolContext:
        call, effect = self.call, self.tool.effect
        workspace = None
        if effect in (Effect.READ_ONLY, Effect.WORKSPACE):
            workspace = WorkspaceFiles(
                Path(self.view.index.working_dir),
                self.ports.forbidden_files,
                writable=effect is Effect.WORKSPACE,
            )
        return ToolContext(
            session_id=self.claim.session_id,
            tool_call_id=call.call_id,
            idempotency_key=key_of(self.claim.session_id, call),
            attempt=call.attempt,
            workspace=workspace,
            spawn=self._spawn if effect is not Effect.READ_ONLY else None,
            results=functools.partial(self.ports.artifacts.read, self.claim.session_id),
            max_result_bytes=self.agent.max_tool_result_bytes,
        )

    async def _spawn(self, command: str, timeout_s: float) -> CommandResult:
        """The command's result, for a tool in whatever thread and loop."""
        started = asyncio.run_coroutine_threadsafe(self._command(command, timeout_s), self.loop)
        return await asyncio.wrap_future(started)

    async def _command(self, command: str, timeout_s: float) -> CommandResult:
        current = asyncio.current_task()
        if current is not None:
            self.commands.add(current)
            current.add_done_callback(self.commands.discard)

        async def on_held(group: ProcessGroup) -> None:
            await self.ports.store.commit(self.claim, deciding(task_kinds.record_process, self.call.place, group))

        async with self.one_command:
            running = await self.ports.processes.start(
                command,
                cwd=Path(self.view.index.working_dir),
                env=clean_environment(self.ports.environ),
                mark=call_mark(self.claim.session_id, self.call),
                on_held=on_held,
            )
            return await running.finished(timeout_s)

    async def _is_over(self, invocation: Invocation, grace_s: float, *, overdue_s: float | None = None) -> None:
        """Nothing of it goes on. Raises WorkerUnfit otherwise, whoever cancels meanwhile: nobody may settle it."""
        ending = asyncio.create_task(self._ends(invocation, grace_s, overdue_s))
        cancelled = False
        while not ending.done():
            try:
                await asyncio.wait([ending])
            except asyncio.CancelledError:
                cancelled = True
        ending.result()
        if cancelled:
            raise asyncio.CancelledError

    async def _ends(self, invocation: Invocation, grace_s: float, overdue_s: float | None) -> None:
        await self._commands_over()
        if self.tool.effect is Effect.READ_ONLY or await invocation.ended(grace_s):
            return
        if not invocation.to_blame:
            raise WorkerUnfit(
                f"the tool {self.tool.name!r} can't be stopped, for another async tool blocks the event loop that "
                "they share; only the end of this process helps"
            )
        if overdue_s is not None:
            note = deciding(task_kinds.note_overdue, self.call.place, overdue_s)
            await self.ports.store.commit(self.claim, note, durable=True)
        raise WorkerUnfit(
            f"the tool {self.tool.name!r} runs on {grace_s:g} s after it should have ended; only the end of this "
            "process stops it"
        )

    async def _commands_over(self) -> None:
        """What the tool started by ``ToolContext.run`` doesn't outlive it."""
        while self.commands:
            for command in tuple(self.commands):
                command.cancel()
            await asyncio.wait(tuple(self.commands))

    def _happened(self, found: object) -> object:
        """What a probe found: what the call brought, None where it took no effect."""
        if found is None:
            return None
        if not isinstance(found, Happened):
            raise TypeError(f"a probe returns Happened(…) or None, not {type(found).__name__}")
        return self.finish(found.result)

    def _kept(self, text: str) -> CallResult:
        short, cut = capped(text, self.agent.max_tool_result_bytes)
        if not cut:
            return CallResult(content=text)
        name = f"{self.call.call_id}-{self.call.attempt}.txt"
        try:
            handle = self.ports.artifacts.keep(self.claim.session_id, name, text)
        except OSError as error:
            log.warning("artifact_not_kept call=%s: %s", self.call.call_id, error)
            return CallResult(content=short)
        note = f"the whole is kept as {handle}"
        if read_result in self.agent.tools:
            note += f"; read on with read_result(handle={handle!r}, offset={{head}})"
        short, _ = capped(text, self.agent.max_tool_result_bytes, note=note)
        return CallResult(content=short, artifact=handle)
