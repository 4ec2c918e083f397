"""This process as a worker of the sessions that a Runner is given: works, stops, hands back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from nonoka.app import WorkerParts, as_worker
from nonoka.engine.collector import collect_forever
from nonoka.engine.drive import drive, run_due_of
from nonoka.engine.ports import Ports
from nonoka.errors import UsageError
from nonoka.records.commit import Claim, Committed, Standing
from nonoka.records.task import WorkerKind, session_of

T = TypeVar("T")

#: Between two tries to stop what is worked on here.
STOP_AGAIN_S = 0.1
_LEFT = "the Runner has been left meanwhile"


class WorkerHere:
    """Works on the sessions that it is told to, any number at once, and on no others."""

    def __init__(self, ports: Ports, parts: WorkerParts) -> None:
        self._ports = ports
        self._parts = parts
        #: the heartbeat and the recovery passes
        self._beside: list[asyncio.Task[None]] = []
        #: the asyncio tasks that work on a session, and those among them that were asked to stop
        self._works: set[asyncio.Task[Standing]] = set()
        self._stopped: set[asyncio.Task[Standing]] = set()
        #: each is done once the block that it was made for has ended
        self._blocks: set[asyncio.Future[None]] = set()
        #: those who look at the store for as long as it is open
        self._looks: set[asyncio.Task[Any]] = set()
        self._ended = False

    @property
    def worker_id(self) -> str:
        """The id under which it claims."""
        return self._parts.worker.worker_id

    async def work_on(self, session_id: str, claimed: Committed | None = None) -> None:
        """The session was worked on until it was at rest, or until ``stop``."""
        work = asyncio.create_task(drive(self._ports, self._parts.tasks, session_id, claimed=claimed))
        self._works.add(work)
        try:
            await self._while_alive(work)
        except asyncio.CancelledError:
            if work not in self._stopped:
                raise
        finally:
            self._works.discard(work)
            self._stopped.discard(work)

    async def stop(self) -> None:
        """Nothing is worked on here any more: what ran is interrupted, settled and handed back."""
        works = set(self._works)
        self._stopped |= works
        while works:
            self._parts.running.interrupt_all()
            for work in works - {running.work for running in self._parts.running}:
                work.cancel()
            # Again and again: one whose claim was lost heeds no interrupt, and goes on looking for the next.
            _, works = await asyncio.wait(works, timeout=STOP_AGAIN_S)
        await self._hand_back_rest()

    async def heed(self, session_id: str) -> None:
        """What waits in the session's inbox has had its effect, unless a living worker has its task."""

        async def claim_it() -> None:
            if not await run_due_of(self._ports, self._parts.tasks, session_id):
                await self.sweep()
                await run_due_of(self._ports, self._parts.tasks, session_id)

        await self._while_alive(asyncio.create_task(claim_it()))

    async def sweep(self) -> None:
        """What dead processes held is free now, not only at the next pass."""
        await self._parts.sweeper.sweep()

    @contextmanager
    def held_open(self) -> Iterator[None]:
        """The ports stay open until the end of the block."""
        done = asyncio.get_running_loop().create_future()
        self._blocks.add(done)
        try:
            yield
        finally:
            self._blocks.discard(done)
            done.set_result(None)

    async def while_open(self, look: Coroutine[Any, Any, T]) -> T:
        """What a look at the store brings, however long it takes. Raises UsageError if the end comes first."""
        if self._ended:
            look.close()
            raise UsageError(_LEFT)
        task = asyncio.create_task(look)
        self._looks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if not self._ended:
                raise
            raise UsageError(_LEFT) from None
        finally:
            self._looks.discard(task)

    async def start(self) -> None:
        """It has a heartbeat, makes a recovery pass every second, and a collection now and then."""
        self._beside = [
            asyncio.create_task(self._parts.keeper.keep()),
            asyncio.create_task(self._parts.sweeper.sweep_forever()),
        ]
        # Not inside somebody's program: a large collection is no guest's business.
        if self._parts.worker.kind == "run":
            self._beside.append(asyncio.create_task(collect_forever(self._ports)))

    async def end(self) -> None:
        """Everything is handed back, and nothing of it runs any more."""
        try:
            await self.stop()
            if self._blocks:
                await asyncio.wait(self._blocks)
        finally:
            self._ended = True
            # Not before: what is handed back is held until then.
            for task in (*self._looks, *self._beside):
                task.cancel()
            await asyncio.gather(*self._looks, *self._beside, return_exceptions=True)

    async def _while_alive(self, work: asyncio.Task[Any]) -> None:
        """Wait for the work. Raises what it raises, or what ended the heartbeat: nothing goes on without one."""
        try:
            await asyncio.wait([work, *self._beside], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                for ended in [task for task in self._beside if task.done()]:
                    ended.result()
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _hand_back_rest(self) -> None:
        # A claim may have been committed in the very moment in which its work was stopped.
        held = set((await self._ports.store.renew(self.worker_id)).items())
        for task_id, fence in held - self._parts.running.withheld:
            claim = Claim(task_id=task_id, session_id=session_of(task_id), worker_id=self.worker_id, fence=fence)
            await self._parts.tasks.hand_back(claim)


@asynccontextmanager
async def worker_here(ports: Ports, kind: WorkerKind) -> AsyncIterator[WorkerHere]:
    """This process is a worker over these ports until the end of the block."""
    async with as_worker(ports, kind, stay=True) as parts:
        here = WorkerHere(ports, parts)
        await here.start()
        try:
            yield here
        finally:
            await here.end()
