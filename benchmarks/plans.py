"""What a step of a plan costs beside its work: ``python benchmarks/plans.py [sizes...]``.

A plan of N steps in a chain, one of N steps side by side, and one step fanned out over N items, each of a tool
that does nothing, in one process over a file. Prints ms a step by the clock, and ms of this process's time; a
plan's size must not show in them (within 1.5 times).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time

from nonoka import Agent, Plan, Runner, Step, tool


@tool(effect="read_only")
async def nothing(n: int = 0) -> int:
    """Do nothing."""
    return n


AGENT = Agent("bench", "Do nothing.", tools=[nothing])


def chain(size: int) -> Plan:
    """Each step waits for the one before."""
    steps = [Step(id="s0", tool="nothing")]
    steps += [Step(id=f"s{n}", tool="nothing", depends_on=(f"s{n - 1}",)) for n in range(1, size)]
    return Plan(name="chain", steps=tuple(steps))


def wide(size: int) -> Plan:
    """All side by side, and one that waits for all."""
    names = [f"s{n}" for n in range(size - 1)]
    steps = [Step(id=name, tool="nothing") for name in names]
    return Plan(name="wide", steps=(*steps, Step(id="join", tool="nothing", depends_on=tuple(names))))


def fan_out(size: int) -> Plan:
    """One step over a list."""
    each = Step(id="each", tool="nothing", args={"n": "${item}"}, for_each=list(range(size)))
    return Plan(name="fan-out", steps=(each,))


async def measured(plan: Plan, size: int) -> tuple[float, float]:
    """Ms a step, by the clock and of the process's time, from the start of the run to its end.

    Checking and storing the plan is not in it.
    """
    with tempfile.TemporaryDirectory() as name:
        async with Runner(cwd=name) as runner:
            session_id, claimed = await runner.create_plan(plan, agent=AGENT)
            started, used = time.monotonic(), time.process_time()
            done = await runner.work_on(session_id, claimed)
            took, used = time.monotonic() - started, time.process_time() - used
            assert done.status.value == "completed", done
            return took * 1000 / size, used * 1000 / size


async def main(sizes: list[int]) -> None:
    for make in (chain, wide, fan_out):
        figures = [await measured(make(size), size) for size in sizes]
        told = ", ".join(
            f"{n}: {took:.2f} ({used:.2f}) ms" for n, (took, used) in zip(sizes, figures, strict=True)
        )
        times = (max(each) / min(each) for each in zip(*figures, strict=True))
        print(f"{make.__name__:<8} {told}; {' and '.join(f'{one:.2f}' for one in times)} times", flush=True)


if __name__ == "__main__":
    asyncio.run(main([int(size) for size in sys.argv[1:]] or [100, 1_000, 10_000]))
