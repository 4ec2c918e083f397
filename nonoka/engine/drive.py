"""Works on one session in this process until nothing is left to do for it."""

from __future__ import annotations

import asyncio

from nonoka.engine.ports import Ports
from nonoka.engine.task import TaskRunner
from nonoka.records.commit import Committed, Standing
from nonoka.records.task import WORKSPACE, Task, TaskStatus

#: Between two looks while the session waits for its time, or while another worker has it.
LOOK_MS = 50
#: Steps of one plan that this process runs side by side.
SIDE_BY_SIDE = 16


async def drive(ports: Ports, tasks: TaskRunner, session_id: str, *, claimed: Committed | None = None) -> Standing:
    """The session is at rest; whoever claims its tasks, this process waits for it.

    ``claimed`` is a task of it that this worker has claimed already. Raises UnknownSession if the session
    is deleted meanwhile, AgentUnloadable if this process can't run it.
    """
    if claimed is not None:
        await tasks.run_claimed(claimed)
    async with _Works(ports, tasks, session_id) as works:
        while True:
            standing = await ports.store.standing(session_id)
            if standing.at_rest:
                return standing
            due = _due(standing, ports)
            works.with_children(standing)
            if len(due) == 1 and not works and due[0].kind == "turn":
                await tasks.run_due(session_id=session_id, deaths=due[0].deaths)
            else:
                await works.run(due)


async def run_due_of(ports: Ports, tasks: TaskRunner, session_id: str) -> bool:
    """The session's due task was run here, if it has one and nobody else took it."""
    due = _due(await ports.store.standing(session_id), ports)
    return bool(due) and await tasks.run_due(session_id=session_id, deaths=due[0].deaths)


def _due(standing: Standing, ports: Ports) -> list[Task]:
    now = ports.clock.now_ms()
    return [t for t in standing.live_tasks if t.status is TaskStatus.READY and t.not_before <= now]


class _Works:
    """The steps of one plan that run here now. At the end of the block none does any more."""

    def __init__(self, ports: Ports, tasks: TaskRunner, session_id: str) -> None:
        self._ports = ports
        self._tasks = tasks
        self._session_id = session_id
        self._works: dict[str, asyncio.Task[bool]] = {}

    async def __aenter__(self) -> _Works:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        stopped = kind is not None
        while self._works:
            for work in self._works.values() if stopped else ():
                self._tasks.stop(work)
            stopped = False
            try:
                await asyncio.wait(self._works.values())
            except asyncio.CancelledError:
                # What is being handed back is carried through; whoever asks again reaches what began meanwhile.
                stopped = True
            else:
                await asyncio.gather(*self._works.values(), return_exceptions=True)
                return

    def __len__(self) -> int:
        return len(self._works)

    async def run(self, due: list[Task]) -> None:
        """As many of the due tasks as there is room for are begun, and the next ones as room comes.

        Returns once all of them are begun and one has ended, or after a while. Raises what one of them raised.
        """
        waiting = [task for task in due if task.task_id not in self._works]
        until = self._ports.clock.monotonic_ms() + LOOK_MS
        while True:
            room = max(0, SIDE_BY_SIDE - len(self._works))
            for task in waiting[:room]:
                run = self._tasks.run_due(task.task_id, session_id=self._session_id, deaths=task.deaths)
                self._works[task.task_id] = asyncio.create_task(run)
            waiting = waiting[room:]
            await self._wait()
            if not waiting or self._ports.clock.monotonic_ms() >= until:
                return

    def with_children(self, standing: Standing) -> None:
        """The sessions that the plan's steps wait for are worked on here as well."""
        waits = {task.waits_for.removeprefix("session:") for task in standing.live_tasks if task.waits_for}
        for child in waits - self._works.keys() - {WORKSPACE}:
            self._works[child] = asyncio.create_task(self._drive_child(child))

    async def _drive_child(self, session_id: str) -> bool:
        await drive(self._ports, self._tasks, session_id)
        return True

    async def _wait(self) -> None:
        look = asyncio.create_task(self._ports.clock.sleep_ms(LOOK_MS))
        try:
            await asyncio.wait([look, *self._works.values()], return_when=asyncio.FIRST_COMPLETED)
        finally:
            look.cancel()
            await asyncio.gather(look, return_exceptions=True)
        for task_id, work in list(self._works.items()):
            if work.done():
                del self._works[task_id]
                work.result()
