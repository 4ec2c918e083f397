"""The play itself: workers, sessions, the kill in the middle of a call, and waiting for the recovery."""

from __future__ import annotations

from collections.abc import AsyncIterator

from nonoka.app import open_ports
from nonoka.decisions.calls import call_id, idempotency_key
from nonoka.engine.accept import SessionRequest, create_session
from nonoka.engine.ports import Ports
from nonoka.entrypoints.cli.demo.outcome import Act, CallStory, Cut, Outcome
from nonoka.entrypoints.cli.demo.scenario import BUILD_PART, CUT_AFTER, CUT_PLACE, CUT_TURN, PARTS, Part
from nonoka.entrypoints.cli.demo.scratch import Scratch
from nonoka.entrypoints.cli.demo.stage import Stage
from nonoka.entrypoints.cli.demo.telling import Telling, short_key
from nonoka.entrypoints.cli.demo.worker_processes import WorkerProcesses, worker_processes
from nonoka.errors import NonokaError
from nonoka.records.event import Event, EventType
from nonoka.records.task import TaskStatus

#: Between two looks at what was committed.
LOOK_MS = 50
#: So long nothing may happen.
PATIENCE_MS = 20_000
_CUT_CALL = call_id(CUT_TURN, CUT_PLACE)


async def play(scratch: Scratch, stage: Stage) -> Outcome:
    """All of it has been shown, and every process that was started has ended.

    Raises NonokaError where a worker ends by itself, or where nothing happens for 20 s.
    """
    async with open_ports(scratch.settings) as ports, worker_processes(scratch, ports) as workers:
        return await _Play(scratch, stage, ports, workers).run()


class _Play:
    def __init__(self, scratch: Scratch, stage: Stage, ports: Ports, workers: WorkerProcesses) -> None:
        self._scratch, self._stage, self._workers = scratch, stage, workers
        self._store, self._clock, self._processes = ports.store, ports.clock, ports.processes
        self._parts: dict[str, Part] = {}
        self._telling = Telling(self._parts, workers.letters, ports.clock.now_ms())
        self._moved_at = ports.clock.monotonic_ms()
        #: the call that is to be cut off has begun, and was settled after it
        self._begun = self._settled = False
        self._cut: Cut | None = None

    async def run(self) -> Outcome:
        """From the workers' start to the end of the sessions."""
        await self._workers_up()
        for part in PARTS:
            await self._create(part)
        async for events in self._looks():
            self._workers.must_live()
            for line in self._telling.lines(events):
                self._stage.line(*line)
            # After showing them: whoever reads may have taken his time.
            self._be_patient(bool(events))
            for event in events:
                self._note(event)
            await self._act()
        return await self._outcome()

    # --- what is there before

    async def _workers_up(self) -> None:
        while not await self._workers.up():
            self._workers.must_live()
            self._be_patient(False)
            await self._clock.sleep_ms(LOOK_MS)
        now = self._telling.moment(self._clock.now_ms())
        for letter in "AB":
            up = f"{letter}  is up: pid {self._workers.pid(letter)}"
            self._stage.line(now, ("worker ", "strong"), (up, ""))
        self._moved_at = self._clock.monotonic_ms()

    async def _create(self, part: Part) -> None:
        request = SessionRequest(
            prompt=part.prompt,
            agent="default",
            model=self._scratch.model(part),
            working_dir=self._scratch.workspace(part),
        )
        session_id, _ = await create_session(self._store, self._clock, request)
        self._parts[session_id] = part

    # --- what happens

    async def _looks(self) -> AsyncIterator[list[Event]]:
        """What was committed since the last look, perhaps nothing, until no session has anything left to do."""
        seen = dict.fromkeys(self._parts, 0)
        at_rest = False
        while not at_rest:
            at_rest = all([(await self._store.standing(session_id)).at_rest for session_id in seen])
            events: list[Event] = []
            for session_id, seq in seen.items():
                new = await self._store.events_after(session_id, seq)
                seen[session_id] = new[-1].seq if new else seq
                events += new
            yield sorted(events, key=lambda event: event.at)
            await self._clock.sleep_ms(LOOK_MS)

    def _be_patient(self, moved: bool) -> None:
        now = self._clock.monotonic_ms()
        if moved:
            self._moved_at = now
        if now - self._moved_at > PATIENCE_MS:
            raise NonokaError(f"nothing has happened for {PATIENCE_MS // 1000} s")

    def _note(self, event: Event) -> None:
        if self._parts[event.session_id] is BUILD_PART and event.data.get("tool_call_id") == _CUT_CALL:
            self._begun |= event.type is EventType.CALL_STARTED
            self._settled |= event.type is EventType.CALL_SETTLED

    async def _act(self) -> None:
        if self._cut is None and self._begun and self._scratch.built() >= CUT_AFTER:
            self._cut = await self._kill()
            self._moved_at = self._clock.monotonic_ms()
        if self._settled:
            self._scratch.deliver()

    # --- the kill

    async def _kill(self) -> Cut:
        holder = await self._holder()
        letter, made = self._workers.letters[holder], self._scratch.built()
        at = self._clock.now_ms()
        pid = self._workers.kill(letter)
        session_id = self._session_of(BUILD_PART)
        self._show_kill(at, f"worker {letter} (pid {pid})", made)
        return Cut(letter, pid, at, idempotency_key(session_id, CUT_TURN, CUT_PLACE))

    def _show_kill(self, at: int, whom: str, made: int) -> None:
        key = short_key(self._session_of(BUILD_PART), _CUT_CALL)
        self._stage.line()
        self._stage.line(
            self._telling.moment(at),
            ("SIGKILL", "kill"),
            (f"   {whom}, which holds turn {CUT_TURN} of ", "bad"),
            (BUILD_PART.name, BUILD_PART.name),
        )
        self._stage.line(
            (" " * 20, ""),
            (f"in the middle of {_CUT_CALL} (attempt 1, key {key}): a file is moved,", ""),
        )
        self._stage.line(
            (" " * 20, ""),
            (f"one is deleted, {made} of 6 lines are appended: not safe to repeat on what is there", ""),
        )
        self._stage.line()

    async def _holder(self) -> str:
        """The worker that has the claim, as the store says."""
        detail = await self._store.detail(self._session_of(BUILD_PART))
        running = [task.lease_owner for task in detail.tasks if task.status is TaskStatus.RUNNING]
        if len(running) != 1 or running[0] not in self._workers.letters:
            raise NonokaError(f"the call {_CUT_CALL} has begun, and none of the two workers has its turn")
        return running[0]

    def _session_of(self, part: Part) -> str:
        return next(session_id for session_id, found in self._parts.items() if found is part)

    # --- what came of it

    async def _outcome(self) -> Outcome:
        if self._cut is None:
            raise NonokaError(f"the sessions have ended before {_CUT_CALL} of build could be cut off")
        acts = [Act(part, await self._store.detail(session_id)) for session_id, part in self._parts.items()]
        return Outcome(
            acts=tuple(acts),
            cut=self._cut,
            witnessed=self._scratch.witnessed(),
            files=self._scratch.files(),
            left_over=sum([await self._left_over(call) for act in acts for call in act.calls]),
        )

    async def _left_over(self, call: CallStory) -> int:
        """How many processes of a call's attempts still ran; they are ended."""
        marks = [f"{call.key}#{attempt}" for attempt in range(1, call.begun + 1)]
        return sum([await self._processes.end((), mark) for mark in marks])
