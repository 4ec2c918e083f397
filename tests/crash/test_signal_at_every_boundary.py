"""A signal at every boundary of a run that completes, fails, pauses, or dies right there: it is never lost.

What follows the signal is worked on by the process that was signalled and by another one after it. In memory one
process sends it; to a file two processes send it at once, each with a store of its own.
"""

from __future__ import annotations

import asyncio
import functools
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import pytest

from nonoka.decisions.conversation_rules import first_fault
from nonoka.decisions.inbox import CANCELLED_RESULT
from nonoka.decisions.transitions import TERMINAL
from nonoka.records.commit import NewSignal, SessionDetail
from nonoka.records.event import Event, EventType
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from tests.support.boundaries import Point
from tests.support.lives import StoreKind, Way
from tests.support.sessions import message, signal
from tests.support.signalled_lives import SignalledLives

#: how the run ends but for the signal. "dies": the process dies where the signal came in
Ending = Literal["completes", "fails", "pauses", "dies", "fails and dies"]
#: a pause or cancel that is heard cuts off what runs; else it is found at the next commit
Sent = Literal["message", "cancel", "cancel, heard", "pause", "pause now, heard", "retry"]
ENDINGS = get_args(Ending)
#: over a file at so many points one: lives cost ten times as much there
STRIDE = 10

CALLS: list[dict[str, object]] = [
    {
        "text": "First I look around.",
        "tool_calls": [
            {"name": "look", "args": {"place": "hall"}},
            {"name": "look", "args": {"place": "attic"}},
            {"name": "build", "args": {"target": "app"}},
            {"name": "pay", "args": {"amount": 5}},
        ],
    },
]
HEALTHY = [*CALLS, {"text": "All done."}, *({"text": f"Heard {n}."} for n in range(1, 5))]
BROKEN = [*CALLS, {"error": {"status": 401}}]
#: a thread that only reads may end after the session was cancelled; it changes nothing
ONLY_READ = ("call_1_0", "call_1_1")
PAUSE_NOW = NewSignal(kind=SignalKind.PAUSE, payload={"now": "true"})
SIGNALS: dict[Sent, NewSignal] = {
    "message": message("also the cellar"),
    "cancel": signal(SignalKind.CANCEL),
    "cancel, heard": signal(SignalKind.CANCEL),
    "pause": signal(SignalKind.PAUSE),
    "pause now, heard": PAUSE_NOW,
    "retry": signal(SignalKind.RETRY),
}
#: where the run that pauses is told to: in the middle of its calls
PAUSED_AT = Point("before", "processes.start")


@functools.cache
def undisturbed(store: StoreKind, way: Way, ending: Ending) -> tuple[SessionDetail, list[Point]]:
    """The session as it ends without the signal, and every point at which there is a session to be signalled."""

    async def run() -> tuple[SessionDetail, list[Point]]:
        with tempfile.TemporaryDirectory() as directory:
            lives = SignalledLives(Path(directory), store, way, turns_of(ending), on_the_way=on_the_way(ending))
            passed = (await lives.live()).passed
            assert lives.faults == []
            assert lives.all_sent
            detail = await lives.detail()
            since = PAUSED_AT if ending == "pauses" else Point("after", "store.create_session")
            following = passed[passed.index(since) + 1 :]
            return detail, [point for point in following if point.when != "inside"]

    return asyncio.run(run())


def turns_of(ending: Ending) -> Sequence[dict[str, object]]:
    return BROKEN if ending in ("fails", "fails and dies") else HEALTHY


def on_the_way(ending: Ending) -> dict[Point, list[NewSignal]]:
    return {PAUSED_AT: [signal(SignalKind.PAUSE)]} if ending == "pauses" else {}


async def signalled(
    directory: Path, store: StoreKind, way: Way, ending: Ending, sent: Sent, point: Point
) -> SignalledLives:
    """The signal came in at this point, and two processes have done what there was to do."""
    times = 1 if store == "memory" else 2
    signals = on_the_way(ending) | {point: [SIGNALS[sent]] * times}
    lives = SignalledLives(
        directory, store, way, turns_of(ending), on_the_way=signals, heard=sent.endswith("heard")
    )
    if sent == "retry":
        lives.heal_on_the_way(HEALTHY)
    dies = point if ending in ("dies", "fails and dies") else None
    assert (await lives.live(dies)).dead == (dies is not None)
    await lives.live()
    assert lives.all_sent
    return lives


# --- what must hold of each


async def a_message_is_heard_once(lives: SignalledLives, whole: SessionDetail, times: int) -> None:
    """In its order, after the results of the calls in flight, and it is answered."""
    await brought_to_completion(lives)
    entries = (await lives.detail()).state.memory_entries
    heard = [entry.position for entry in entries if entry.content == "also the cellar"]
    assert len(heard) == times
    assert entries[-1].position > max(heard)
    assert entries[-1].role is MemoryRole.ASSISTANT
    rest = [entry.content for entry in entries if entry.content != "also the cellar"]
    expected = contents(whole)
    assert rest[: len(expected)] == expected


async def a_cancel_ends_it(lives: SignalledLives, whole: SessionDetail, times: int) -> None:
    """Every call has its result, nothing runs once it is recorded, and the session takes another prompt."""
    detail = await lives.detail()
    assert begun_since(lives, detail) == []
    cancelled = detail.state.status is SessionStatus.CANCELLED
    assert cancelled or was_over(lives, detail)
    assert told(detail)[EventType.SESSION_CANCELLED] == cancelled
    assert (detail.state.runtime_state.cancelled_at is not None) == cancelled
    ran, asked = lives.oracle.ran(), lives.oracle.asked()
    if cancelled:
        not_run = {e.tool_call_id for e in detail.state.memory_entries if e.content == CANCELLED_RESULT}
        assert not not_run & {one.tool_call_id for one in ran}
        assert [one for one in ran[lives.ran_at_cancel :] if one.tool_call_id not in ONLY_READ] == []
    await lives.live()
    assert (lives.oracle.ran(), lives.oracle.asked()) == (ran, asked)

    lives.heal([{"text": "So it is."}] * 6)
    await lives.send(message("and now?"))
    await lives.live()
    detail = await lives.detail()
    assert detail.state.status is SessionStatus.COMPLETED
    assert contents(detail)[-2:] == ["and now?", "So it is."]
    assert lives.oracle.ran() == ran


async def a_pause_holds_until_it_is_resumed(lives: SignalledLives, whole: SessionDetail, times: int) -> None:
    """Nothing runs meanwhile; then it comes to the end that it would have had."""
    detail = await lives.detail()
    assert begun_since(lives, detail) == []
    paused = detail.state.status is SessionStatus.PAUSED
    assert paused or was_over(lives, detail)
    assert told(detail)[EventType.SESSION_PAUSED] == paused
    assert [call for call in detail.calls if call.status == "begun"] == []
    ran, asked = lives.oracle.ran(), lives.oracle.asked()
    await lives.live()
    assert (lives.oracle.ran(), lives.oracle.asked()) == (ran, asked)

    await brought_to_completion(lives)
    assert contents(await lives.detail()) == contents(whole)


async def a_retry_takes_a_failed_run_up(lives: SignalledLives, whole: SessionDetail, times: int) -> None:
    """It completes; where it had not failed, it has never to."""
    detail = await lives.detail()
    if detail.state.status is SessionStatus.PAUSED:
        await brought_to_completion(lives)
    else:
        assert detail.state.status is SessionStatus.COMPLETED
    assert told(detail)[EventType.SESSION_RESUMED] <= 1
    assert contents(await lives.detail()) == contents(whole)


async def brought_to_completion(lives: SignalledLives) -> None:
    """Whoever may go on is told to, twice, by two processes; once it has effect."""
    for paused, kind in ((True, SignalKind.RESUME), (False, SignalKind.RETRY)):
        before = await lives.detail()
        if before.state.status is (SessionStatus.PAUSED if paused else SessionStatus.FAILED):
            if not paused:
                lives.heal(HEALTHY)
            await lives.send(signal(kind), signal(kind))
            await lives.live()
            resumed = told(await lives.detail()) - told(before)
            assert resumed[EventType.SESSION_RESUMED] == 1
    assert (await lives.detail()).state.status is SessionStatus.COMPLETED


def was_over(lives: SignalledLives, detail: SessionDetail) -> bool:
    """The session had ended when it was signalled, or it failed at what it was doing then."""
    return detail.state.status in ({SessionStatus.FAILED, lives.stood.state.status} & TERMINAL)


def begun_since(lives: SignalledLives, detail: SessionDetail) -> list[Event]:
    """The calls that began after the session was signalled."""
    return [one for one in detail.events[len(lives.stood.events) :] if one.type is EventType.CALL_STARTED]


LAWS: dict[Sent, Callable[[SignalledLives, SessionDetail, int], Awaitable[None]]] = {
    "message": a_message_is_heard_once,
    "cancel": a_cancel_ends_it,
    "cancel, heard": a_cancel_ends_it,
    "pause": a_pause_holds_until_it_is_resumed,
    "pause now, heard": a_pause_holds_until_it_is_resumed,
    "retry": a_retry_takes_a_failed_run_up,
}


def contents(detail: SessionDetail) -> list[str]:
    return [entry.content for entry in detail.state.memory_entries]


def told(detail: SessionDetail) -> Counter[EventType]:
    return Counter(event.type for event in detail.events)


async def never_lost(store: StoreKind, way: Way, ending: Ending, sent: Sent, point: Point) -> None:
    healthy = undisturbed(store, way, "completes")[0]
    with tempfile.TemporaryDirectory() as directory:
        lives = await signalled(Path(directory), store, way, ending, sent, point)
        await LAWS[sent](lives, healthy, 1 if store == "memory" else 2)
        detail = await lives.detail()
        assert first_fault(detail.state.memory_entries) is None
        assert detail.state.runtime_state.open_turn is None
        assert detail.signals == ()
        assert [task.key for task in detail.tasks if task.status not in ("done", "dead")] == []
        # What failed is asked for again where a message or a retry starts it anew.
        faults = [one for one in lives.faults if "was asked for" not in one or "fails" not in ending]
        assert faults == []
        assert lives.machine.overlaps == []
        assert lives.machine.commands == set()


async def never_lost_at(store: StoreKind, way: Way, ending: Ending, sent: Sent, points: list[Point]) -> None:
    for point in points:
        try:
            await never_lost(store, way, ending, sent, point)
        except BaseException as error:
            error.add_note(f"the signal came in {point}")
            raise


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize(
    ("way", "ending"), [*(("worker", ending) for ending in ENDINGS), ("run", "completes"), ("run", "dies")]
)
def test_a_signal_at_any_boundary_is_never_lost(way: Way, ending: Ending, sent: Sent) -> None:
    points = undisturbed("memory", way, ending)[1]
    assert len(points) > (6 if ending == "pauses" else 30)
    asyncio.run(never_lost_at("memory", way, ending, sent, points))


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_signal_from_two_processes_at_once_is_never_lost(ending: Ending, sent: Sent) -> None:
    """Together the tests of this kind pass every point several times."""
    points = undisturbed("sqlite", "worker", ending)[1]
    offset = ENDINGS.index(ending) + list(SIGNALS).index(sent) * len(ENDINGS)
    asyncio.run(never_lost_at("sqlite", "worker", ending, sent, points[offset % STRIDE :: STRIDE]))
