"""What stdout shows of a session that is followed: its timeline, NDJSON, or only the final answer."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from nonoka.entrypoints.cli.contract import session_contract
from nonoka.entrypoints.cli.json_output import event_json, write_json
from nonoka.entrypoints.cli.reader import Reader
from nonoka.entrypoints.cli.screen import screen
from nonoka.entrypoints.cli.status_line import status_line
from nonoka.entrypoints.cli.summary import closing_line, write_answer
from nonoka.entrypoints.cli.timeline import Timeline
from nonoka.entrypoints.cli.waiting import Waiting
from nonoka.errors import NonokaError
from nonoka.ports.clock import Clock
from nonoka.ports.store import ReadStore
from nonoka.records.commit import SessionDetail, Standing
from nonoka.records.event import Event
from nonoka.records.session import SessionState

#: Between two looks at what is waited for.
TICK_MS = 1_000


class Display:
    """Its methods write; call them from one thread at a time, the reader's."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self._json = as_json
        self._timeline = Timeline(verbose=verbose)
        self._screen = screen() if not (as_json or quiet) else None
        self._status = status_line() if self._screen is not None else None
        self.waiting = Waiting()

    def show(self, event: Event) -> None:
        """The event is shown."""
        if self._json:
            write_json(event_json(event))
        elif self._screen is not None:
            self.waiting.told(event)
            spans = self._timeline.told(event)
            if spans:
                self._clear()
                self._screen.write(spans)

    def know(self, events: Iterable[Event]) -> None:
        """These have happened before, and are not shown: what comes next may belong to them."""
        for event in events:
            self.waiting.told(event)
            self._timeline.told(event)
        self._timeline.ended()

    def tick(self, now: int, standing: Standing) -> None:
        """What is waited for is shown, unless that would be in the middle of a line."""
        if self._status is None or self._timeline.mid_line:
            return
        text = self.waiting.at(now, standing)
        if text is None:
            self._status.clear()
        else:
            self._status.show(text)

    def close(self, detail: SessionDetail) -> None:
        """What comes after the last event of a session that was worked on here."""
        if self._json:
            write_json(session_contract(detail))
        elif self._screen is None:
            write_answer(detail)
        else:
            self.sum_up(detail.state)

    def sum_up(self, state: SessionState) -> None:
        """The closing line alone, where there is a timeline above it."""
        if self._screen is not None:
            self._clear()
            self._screen.write([*self._timeline.ended(), *closing_line(state)])

    async def keep_status(self, reader: Reader, store: ReadStore, clock: Clock, session_id: str) -> None:
        """Tick until cancelled, and leave no line behind; returns at once where there is nowhere to show it."""
        if self._status is None:
            return
        try:
            while True:
                await clock.sleep_ms(TICK_MS)
                standing = await store.standing(session_id)
                await reader.in_turn(functools.partial(self.tick, clock.now_ms(), standing))
        except NonokaError:
            return  # whoever reads the session finds that out too, and says so
        finally:
            await reader.in_turn(self._status.clear)

    def _clear(self) -> None:
        if self._status is not None:
            self._status.clear()
