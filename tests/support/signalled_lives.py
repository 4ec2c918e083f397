"""Lives in which the session is signalled from outside at a point of the way, by one process or by two at once."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nonoka.decisions.inbox import interrupts
from nonoka.engine.lease_keeper import LeaseKeeper
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.engine.task import TaskRunner
from nonoka.ports.store import Decide, Store
from nonoka.records.commit import Changes, NewSignal, SessionDetail, SessionView
from nonoka.records.session import SessionStatus
from nonoka.records.signal import Signal
from tests.support.boundaries import Boundaries, Point, When, play_death
from tests.support.crash_agent import write_script
from tests.support.lives import Lives, StoreKind, Way

_BEAT_S = 0.002


class SignalledLives(Lives):
    """A session that is signalled on the way of whoever lives first. With ``heard`` a heartbeat runs beside the
    work, and what interrupts is heard where it is sent.
    """

    def __init__(
        self,
        directory: Path,
        store_kind: StoreKind,
        way: Way,
        turns: Sequence[dict[str, object]],
        *,
        on_the_way: Mapping[Point, Sequence[NewSignal]] | None = None,
        heard: bool = False,
    ) -> None:
        super().__init__(directory, store_kind, way, turns)
        self._script = directory / "script.yaml"
        self._healthy: Sequence[dict[str, object]] | None = None
        self._on_the_way = dict(on_the_way or {})
        self._heard = heard
        self._running = Running()
        self._beating: asyncio.Task[None] | None = None
        #: how the session stood when it was last signalled
        self.stood: SessionDetail
        #: how many attempts had begun when a run was recorded as cancelled
        self.ran_at_cancel: int | None = None

    async def send(self, *signals: NewSignal) -> None:
        """Each is sent by a process of its own, all at once."""
        stores = [await self._open() for _ in signals]
        session_id = (await stores[0].list_sessions(limit=1))[0].index.session_id
        self.stood = await stores[0].detail(session_id)
        await asyncio.gather(
            *(store.add_signal(session_id, one) for store, one in zip(stores, signals, strict=True))
        )
        for store in stores:
            await store.close()

    def heal(self, turns: Sequence[dict[str, object]]) -> None:
        """The model says this from here on."""
        write_script(self._script, list(turns))

    def heal_on_the_way(self, turns: Sequence[dict[str, object]]) -> None:
        """The model says this from the moment on in which the session is signalled on the way."""
        self._healthy = turns

    @property
    def all_sent(self) -> bool:
        """Every point at which something was to be sent was passed."""
        return not self._on_the_way

    # --- hooks of Lives

    def _boundaries(self, at: Point | int | None) -> Boundaries:
        return _Visited(at, self._visit)

    def _tasks(self, ports: Ports, worker_id: str) -> TaskRunner:
        self._running = Running()
        tasks = TaskRunner(ports, worker_id, self._running, stay=self._way == "run")
        if self._heard:
            keeper = LeaseKeeper(ports, worker_id, self._running, tasks.hand_back)
            self._beating = asyncio.create_task(_beat(keeper))
        return tasks

    async def _work(self, ports: Ports, session_id: str) -> None:
        work = super()._work(replace(ports, store=_Noting(ports.store, self._note)), session_id)
        if not self._heard:
            await work
            return
        try:
            await self._clock.passing(work)
        finally:
            if self._beating is not None:
                self._beating.cancel()
                await asyncio.gather(self._beating, return_exceptions=True)

    # ---

    def _visit(self, point: Point) -> None:
        signals = self._on_the_way.pop(point, ())
        if not signals:
            return
        if self._healthy is not None:
            self.heal(self._healthy)
        _in_a_thread(lambda: self.send(*signals))
        if self._heard and any(_interrupts(one) for one in signals):
            # As a heartbeat would: once whoever runs waits for something.
            asyncio.get_running_loop().call_soon(self._interrupt)

    def _interrupt(self) -> None:
        for running in self._running:
            running.interrupt("signal")

    def _note(self, changes: Changes) -> None:
        cancelled = changes.state is not None and changes.state.status is SessionStatus.CANCELLED
        if cancelled and self.ran_at_cancel is None:
            self.ran_at_cancel = len(self.oracle.ran())


async def _beat(keeper: LeaseKeeper) -> None:
    # By a clock of its own, so that the time of the others stands still while they work.
    while True:
        await keeper.beat()
        await asyncio.sleep(_BEAT_S)


class _Visited(Boundaries):
    """Boundaries at which something may happen before the process goes on, or dies."""

    def __init__(self, at: Point | int | None, visit: Callable[[Point], None]) -> None:
        super().__init__(at, play_death)
        self._visit = visit
        self._counted: Counter[tuple[When, str]] = Counter()

    def reach(self, when: When, name: str) -> None:
        """Nothing from outside gets inside a transaction."""
        if when != "inside" and not self.dead:
            self._counted[when, name] += 1
            self._visit(Point(when, name, self._counted[when, name]))
        super().reach(when, name)


class _Noting:
    """A store of which each commit is noted as it is decided."""

    def __init__(self, inner: Store, note: Callable[[Changes], None]) -> None:
        self._inner = inner
        self._note = note

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(self, claim: Any, decide: Decide, *, then_claim: Decide | None = None, **options: Any) -> Any:
        then = None if then_claim is None else self._noted(then_claim)
        return await self._inner.commit(claim, self._noted(decide), then_claim=then, **options)

    async def claim(self, worker_id: str, decide: Decide, **options: Any) -> Any:
        return await self._inner.claim(worker_id, self._noted(decide), **options)

    def _noted(self, decide: Decide) -> Decide:
        def noted(view: SessionView) -> Changes:
            changes = decide(view)
            self._note(changes)
            return changes

        return noted


def _interrupts(new: NewSignal) -> bool:
    return interrupts(Signal(session_id="", seq=1, kind=new.kind, payload=dict(new.payload), created_at=0))


def _in_a_thread(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """It is done by others while this thread stands still."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
