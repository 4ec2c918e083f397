"""Works on one session in this process until nothing is left to do for it."""

from __future__ import annotations

from nonoka.engine.ports import Ports
from nonoka.engine.task import TaskRunner
from nonoka.records.commit import Committed, Standing
from nonoka.records.task import TaskStatus

#: Between two looks while the session waits for its time, or while another worker has it.
LOOK_MS = 50


async def drive(ports: Ports, tasks: TaskRunner, session_id: str, *, claimed: Committed | None = None) -> Standing:
    """The session is at rest; whoever claims its tasks, this process waits for it.

    ``claimed`` is a task of it that this worker has claimed already. Raises UnknownSession if the session
    is deleted meanwhile, AgentUnloadable if this process can't run it.
    """
    if claimed is not None:
        await tasks.run_claimed(claimed)
    while True:
        standing = await ports.store.standing(session_id)
        if standing.at_rest:
            return standing
        if not await _run_due_of(standing, ports, tasks, session_id):
            await ports.clock.sleep_ms(LOOK_MS)


async def run_due_of(ports: Ports, tasks: TaskRunner, session_id: str) -> bool:
    """The session's due task was run here, if it has one and nobody else took it."""
    return await _run_due_of(await ports.store.standing(session_id), ports, tasks, session_id)


async def _run_due_of(standing: Standing, ports: Ports, tasks: TaskRunner, session_id: str) -> bool:
    now = ports.clock.now_ms()
    due = [t for t in standing.live_tasks if t.status is TaskStatus.READY and t.not_before <= now]
    return bool(due) and await tasks.run_due(session_id=session_id, deaths=due[0].deaths)
