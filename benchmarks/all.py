"""Every benchmark, one after another: ``make bench``. Prints the figures and keeps them in RESULTS.md.

Each runs alone as well: ``python benchmarks/NAME.py``.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import full_store, length, recovery, throughput, waiting
from benchmarks.figure import Figure

_BENCHMARKS = {
    "A long conversation (length.py)": length.figures,
    "Turns and sessions a second (throughput.py)": throughput.figures,
    "A full store (full_store.py)": full_store.figures,
    "A slow model (waiting.py)": waiting.figures,
    "From one worker to another (recovery.py)": recovery.figures,
}
_RESULTS = Path(__file__).with_name("RESULTS.md")


async def main() -> None:
    found: dict[str, list[Figure]] = {}
    load = os.getloadavg()[0]
    for title, figures in _BENCHMARKS.items():
        print(f"\n{title}", flush=True)
        found[title] = []
        async for figure in figures():
            print(f"  {figure}", flush=True)
            found[title].append(figure)
    _RESULTS.write_text(_page(found, load), encoding="utf-8")
    print(f"\nkept in {_RESULTS}")


def _page(found: dict[str, list[Figure]], load: float) -> str:
    lines = ["# Figures", "", "Written by `make bench`; each part also runs alone.", "", _machine(load)]
    for title, figures in found.items():
        lines += ["", f"## {title}", "", "| what | measured | wanted |", "| --- | --- | --- |"]
        lines += [f"| {figure.what} | {figure.value} | {figure.wanted} |" for figure in figures]
        if length.__name__.rpartition(".")[2] in title:
            lines += ["", "![What a turn costs as the conversation grows](length.svg)"]
    return "\n".join([*lines, ""])


def _machine(load: float) -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in ("nonoka", "dramatiq", "aiosqlite", "pydantic"))
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({model}), Linux {platform.release()}, "
        f"load {load:.1f} at the beginning; "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}."
    )


if __name__ == "__main__":
    asyncio.run(main())
