"""A dangerous task runs alone in its process."""

from __future__ import annotations

import asyncio

from nonoka.engine.solitude import Solitude


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_many_run_side_by_side() -> None:
    """Nobody waits where nobody wants to be alone."""
    room, inside = Solitude(), 0
    leave = asyncio.Event()

    async def one() -> None:
        nonlocal inside
        async with room.room(alone=False):
            inside += 1
            await leave.wait()

    works = [asyncio.create_task(one()) for _ in range(5)]
    await settle()
    assert inside == 5
    leave.set()
    await asyncio.gather(*works)


async def test_one_that_wants_to_be_alone_waits_for_the_others_and_keeps_new_ones_out() -> None:
    """It enters once the others have left; who came after it enters after it."""
    room = Solitude()
    order: list[str] = []
    gates = {name: asyncio.Event() for name in ("first", "alone", "after")}

    async def one(name: str, *, alone: bool) -> None:
        async with room.room(alone=alone):
            order.append(f"in {name}")
            await gates[name].wait()
            order.append(f"out {name}")

    works = []
    for name in gates:
        works.append(asyncio.create_task(one(name, alone=name == "alone")))
        await settle()
    assert order == ["in first"]
    for name in gates:
        gates[name].set()
        await settle()
    assert order == ["in first", "out first", "in alone", "out alone", "in after", "out after"]
    await asyncio.gather(*works)


async def test_one_that_gives_up_waiting_lets_the_others_in() -> None:
    """A cancelled wait leaves nothing behind."""
    room, leave = Solitude(), asyncio.Event()

    async def stays() -> None:
        async with room.room(alone=False):
            await leave.wait()

    async def alone() -> None:
        async with room.room(alone=True):
            raise AssertionError("it was never alone")

    first, waiting = asyncio.create_task(stays()), asyncio.create_task(alone())
    await settle()
    later = asyncio.create_task(stays())
    waiting.cancel()
    await settle()
    leave.set()
    await asyncio.gather(first, later)
    assert waiting.cancelled()
