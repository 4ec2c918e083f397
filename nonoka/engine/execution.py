"""One attempt of one call: the tool runs within its time, and what comes of it is text that can be kept."""

from __future__ import annotations

import asyncio
import functools
import logging
from dataclasses import dataclass, field
from pathlib import Path

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
from nonoka.decisions import turn
from nonoka.decisions.calls import idempotency_key
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A call that is begun under this claim, and the tool that it names."""

    ports: Ports
    claim: Claim
    view: SessionView
    call: CallState
    agent: Agent
    tool: Tool
    #: Commands of one call share its mark, and each ends what carries it: so one at a time.
    one_command: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, values: dict[str, object]) -> CallResult:
        """Run the tool; whatever it raises is its result, and the session lives on.

        Raises WorkerUnfit where a thread of a tool that may change things can't be stopped, ClaimLost where
        the call is another worker's by now.
        """
        if self.call.doubt == "probe":
            found = await self._probed(values)
            if found is not None:
                return found
        return await self._run(values)

    async def _run(self, values: dict[str, object]) -> CallResult:
        try:
            invocation = self.tool.invoke(self._context(), values)
        except Exception as error:  # noqa: BLE001  the agent's deps may raise anything
            return failed_call(error)
        limit_s = self._limit_s(values)
        try:
            async with asyncio.timeout(limit_s) as time:
                value = await invocation
        except asyncio.CancelledError:
            await self._threads_over(invocation)
            raise
        except (ClaimLost, StoreError):
            raise
        except Exception as error:  # noqa: BLE001  a tool may raise anything; the model is told
            if not time.expired():
                return failed_call(error)
            await self._threads_over(invocation)
            return CallResult(
                content=f"{self.tool.name} was ended after its {limit_s:g} s; its outcome may be partial",
                error_type="timeout",
            )
        return self._kept(value)

    async def _probed(self, values: dict[str, object]) -> CallResult | None:
        probe = self.tool.probe
        if probe is None:
            return UNKNOWN_OUTCOME
        asked = {name: values[name] for name in probe.arguments.names}
        try:
            async with asyncio.timeout(probe.timeout_s):
                found = await probe.invoke(self._context(), asked)
            if found is None or isinstance(found, Happened):
                return self._kept(found.result) if found is not None else None
            raise TypeError(f"a probe returns Happened(…) or None, not {type(found).__name__}")
        except (ClaimLost, StoreError):
            raise
        except Exception as error:  # noqa: BLE001  a probe may raise anything; nothing is known then
            failed = failed_call(error)
            unknown = f"{UNKNOWN_OUTCOME.content}, and its probe failed: {failed.content}"
            return failed.model_copy(update={"content": unknown, "error_type": UNKNOWN_OUTCOME.error_type})

    def _limit_s(self, values: dict[str, object]) -> float:
        limit_s = self.tool.timeout_of(values)
        deadline = self.view.state.runtime_state.deadline_at
        if deadline is not None:
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
            idempotency_key=idempotency_key(self.claim.session_id, call.turn, call.place),
            attempt=call.attempt,
            deps=self.agent.deps() if self.agent.deps is not None else None,
            workspace=workspace,
            spawn=self._spawn if effect is not Effect.READ_ONLY else None,
            results=functools.partial(self.ports.artifacts.read, self.claim.session_id),
            max_result_bytes=self.agent.max_tool_result_bytes,
        )

    async def _spawn(self, command: str, timeout_s: float) -> CommandResult:
        async def on_held(group: ProcessGroup) -> None:
            await self.ports.store.commit(self.claim, deciding(turn.record_process, self.call.place, group))

        async with self.one_command:
            running = await self.ports.processes.start(
                command,
                cwd=Path(self.view.index.working_dir),
                env=clean_environment(self.ports.environ),
                mark=call_mark(self.claim.session_id, self.call),
                on_held=on_held,
            )
            return await running.finished(timeout_s)

    async def _threads_over(self, invocation: Invocation) -> None:
        if self.tool.effect is Effect.READ_ONLY or await invocation.ended(THREAD_GRACE_S):
            return
        raise WorkerUnfit(
            f"the tool {self.tool.name!r} runs on {THREAD_GRACE_S:g} s after it should have ended; "
            "only the end of this process stops it"
        )

    def _kept(self, value: object) -> CallResult:
        text = stored_text(value)
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
