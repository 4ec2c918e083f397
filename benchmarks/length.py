"""What a turn costs as its conversation grows: ``python benchmarks/length.py [turns]``.

One session in one process, turns of 1 KB with one call of a tool that does nothing; beside it, in turns, a DBOS
workflow whose steps return 1 KB (SQLite in WAL mode, in an environment of its own that this makes under
``.bench/``; without a package index it is left out). Draws ``length.svg``.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import plot
from benchmarks.figure import Figure
from nonoka import Agent, Runner, tool

HERE = Path(__file__).parent
_RUNS = 3
_PLACES = (10, 100, 1000)
#: A figure "at turn n" is the median of so many turns before it and after it.
_AROUND = 8
_ROWS = """
SELECT (SELECT SUM(length(content) + length(metadata) + 50) FROM memory_entries
        WHERE position IN (2 * :n - 1, 2 * :n))
     + (SELECT SUM(length(data_json) + length(type) + 50) FROM events WHERE json_extract(data_json, '$.turn') = :n)
     + (SELECT SUM(length(payload_json) + length(step_id) + 50) FROM step_updates
        WHERE step_id LIKE 'turn:' || :n || '/%')
     + (SELECT 3 * length(state_json) FROM checkpoints) + 200
"""


@dataclass(frozen=True, slots=True)
class Run:
    """When each turn ended (s), how much the process had written by then, and the file at the end, in bytes."""

    ended: list[float]
    written: list[int]
    file: int

    def ms_at(self, turn: int) -> float:
        """What a turn took, around this one."""
        return statistics.median(self.ms[max(0, turn - _AROUND) : turn + _AROUND])

    @property
    def ms(self) -> list[float]:
        return [(b - a) * 1000 for a, b in zip(self.ended, self.ended[1:], strict=False)]

    def written_at(self, turn: int) -> float:
        """Bytes that the process wrote for a turn, around this one, to whatever file."""
        first, last = max(0, turn - 50), min(len(self.written) - 1, turn + 50)
        return (self.written[last] - self.written[first]) / (last - first)


async def figures(turns: int = 1000) -> AsyncIterator[Figure]:
    """What this measures."""
    ours: list[Run] = []
    theirs: list[Run] = []
    dbos = _dbos()
    with tempfile.TemporaryDirectory(prefix="nonoka-bench-") as name:
        for number in range(_RUNS):
            home = Path(name) / str(number)
            home.mkdir()
            run, rows, again = await _ours(home, turns)
            ours.append(run)
            if dbos is not None:
                theirs.append(_theirs(dbos, home, turns))
    places = [place for place in _PLACES if place <= turns]
    yield Figure("time of a turn at turn n", _told(ours, places, Run.ms_at, "{:.2f} ms"))
    ratio = statistics.median(run.ms_at(turns) / run.ms_at(10) for run in ours)
    yield Figure(f"turn {turns} against turn 10, time", f"{ratio:.2f} times", "within 1.2")
    told = ", ".join(f"{place}: {rows[place]:,}" for place in places)
    yield Figure("bytes in the rows that a turn of 1 KB writes, at turn n", told, "at most 8,192")
    yield Figure(f"turn {turns} against turn 10, bytes", f"{rows[places[-1]] / rows[10]:.2f} times", "within 1.2")
    yield Figure(
        "bytes written to files for it (whole pages, log and store)",
        _told(ours, places, Run.written_at, "{:,.0f}"),
    )
    if theirs:
        yield Figure("the same, a DBOS step: time", _told(theirs, places, Run.ms_at, "{:.2f} ms"))
        yield Figure(
            "the same, a DBOS step: bytes written to files", _told(theirs, places, Run.written_at, "{:,.0f}")
        )
    else:
        yield Figure("the same on DBOS", "left out: it could not be installed")
    yield Figure(f"file after {turns} turns of 1 KB", f"{ours[0].file / 1e6:.1f} MB", "under 10 MB")
    if theirs:
        yield Figure(f"the same, DBOS: file after {turns} steps of 1 KB", f"{theirs[0].file / 1e6:.1f} MB")
    yield Figure(f"to load {turns} turns", f"{again['load']:.0f} ms")
    yield Figure(
        f"to resume after {turns} turns: store opened, next prompt answered",
        f"{again['resume']:.0f} ms",
        "under 300 ms",
    )
    lines = {"nonoka: a turn with a call": _smooth(ours)} | ({"DBOS: a step": _smooth(theirs)} if theirs else {})
    (HERE / "length.svg").write_text(
        plot.drawn(lines, x="turn", y="ms", title="What a turn costs as the conversation grows")
    )


def _told(runs: list[Run], places: list[int], figure: object, form: str) -> str:
    assert callable(figure)
    return ", ".join(f"{n}: {form.format(statistics.median(figure(run, n) for run in runs))}" for n in places)


def _smooth(runs: list[Run]) -> list[tuple[float, float]]:
    length = min(len(run.ms) for run in runs)
    return [
        (start + 12, statistics.median(ms for run in runs for ms in run.ms[start : start + 25]))
        for start in range(0, length - 24, 25)
    ]


async def _ours(home: Path, turns: int) -> tuple[Run, dict[int, int], dict[str, float]]:
    ended: list[float] = []
    written: list[int] = []

    @tool(effect="read_only")
    async def look() -> str:
        """Look."""
        ended.append(time.perf_counter())
        written.append(int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0]))
        return "nothing new"

    script = home / "script.yaml"
    usage = "usage: {input_tokens: 1, output_tokens: 1}"
    turn = f"- {{tool_calls: [{{name: look, args: {{}}}}], text: '{'x' * 1000}', {usage}}}\n"
    script.write_text(turn * turns + f"- {{text: done, {usage}}}\n- {{text: again, {usage}}}\n")
    agent = Agent("bench", "Look.", tools=[look])
    options = {"cwd": home, "model": f"script:{script}", "max_model_turns": turns + 3}
    async with Runner(**options) as runner:  # type: ignore[arg-type]
        await runner.run_react(agent, "warm up", max_model_turns=20)
        ended.clear()
        written.clear()
        done = await runner.run_react(agent, "go", max_tool_calls=turns + 1)
    begun = time.perf_counter()
    async with Runner(agents=[agent], **options) as runner:  # type: ignore[arg-type]
        await runner.send(done.session_id, "and then?")
        assert (await runner.resume(done.session_id)).data == "again"
        resumed = time.perf_counter()
        await runner.get_state(done.session_id)
        again = {"resume": (resumed - begun) * 1000, "load": (time.perf_counter() - resumed) * 1000}
    path = home / ".nonoka/sessions.db"
    with closing(sqlite3.connect(path)) as db:
        ids = "session_id <> '" + done.session_id + "'"
        for table in ("memory_entries", "events", "step_updates"):
            db.execute(f"DELETE FROM {table} WHERE {ids}")
        db.execute(f"DELETE FROM checkpoints WHERE {ids}")
        rows = {place: int(db.execute(_ROWS, {"n": place}).fetchone()[0]) for place in _PLACES if place <= turns}
    return Run(ended, written, path.stat().st_size), rows, again


def _dbos() -> Path | None:
    home = HERE.parent / ".bench" / "dbos"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        HERE / "dbos-requirements.txt",
    ]
    if subprocess.run(install, stderr=subprocess.DEVNULL, check=False).returncode:
        print("DBOS can't be installed here: it is left out", file=sys.stderr)
        return None
    return python


def _theirs(python: Path, home: Path, turns: int) -> Run:
    command = [python, HERE / "dbos_steps.py", home, str(turns)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(said.strip().splitlines()[-1])
    return Run(found["ended"], found["written"], found["file"])


async def main() -> None:
    async for figure in figures(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print(figure)


if __name__ == "__main__":
    asyncio.run(main())
