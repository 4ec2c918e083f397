"""No-op turns a second, one session in one process: ``python benchmarks/turns.py [turns]``.

Each turn is one scripted answer that asks for one read-only call, and its result: two transactions a turn.
Prints the first and the last hundred turns apart, since a turn's cost must not grow with the conversation.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from nonoka import Agent, Runner, tool
from nonoka.records.event import EventType


@tool(effect="read_only")
async def look() -> str:
    """Look."""
    return "nothing new"


async def main(turns: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "script.yaml"
        asked = "- {tool_calls: [{name: look, args: {}}], usage: {input_tokens: 1, output_tokens: 1}}\n"
        script.write_text(asked * turns + "- text: done\n")
        agent = Agent("bench", "Look.", tools=[look])
        async with Runner(cwd=name, model=f"script:{script}", max_model_turns=turns + 1) as runner:
            await runner.run_react(agent, "warm up", max_model_turns=20)
            done = await runner.run_react(agent, "go", max_tool_calls=turns + 1)
            started = [
                event.at async for event in runner.follow(done.session_id) if event.type is EventType.TURN_STARTED
            ]
    whole = turns * 1000 / (started[-1] - started[0])
    first = 100_000 / (started[100] - started[0])
    last = 100_000 / (started[-1] - started[-101])
    print(f"{turns} turns: {whole:.0f} a second; the first hundred {first:.0f}, the last hundred {last:.0f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
