"""The same on DBOS, run by ``length.py`` in an environment of its own: one workflow of so many steps.

    python dbos_steps.py DIRECTORY STEPS

A step returns 1 KB of text. Prints JSON: when each step ended (s), bytes written by this process by then, and the
size of the file at the end. SQLite in WAL mode.
"""

import json
import os
import sqlite3
import sys
import time
from pathlib import Path

from dbos import DBOS

directory, steps = Path(sys.argv[1]), int(sys.argv[2])
path = directory / "dbos.sqlite"
with sqlite3.connect(path) as db:
    db.execute("PRAGMA journal_mode = WAL")
db.close()
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{path}", "log_level": "ERROR"})
ended: list[float] = []
written: list[int] = []


@DBOS.step()
def look() -> str:
    return "x" * 1000


@DBOS.workflow()
def turns(number: int) -> str:
    for _ in range(number):
        look()
        ended.append(time.perf_counter())
        written.append(int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0]))
    return "done"


DBOS.launch()
turns(20)
ended.clear()
written.clear()
turns(steps)
mode = sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone()[0]
with sqlite3.connect(path) as db:
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
print(json.dumps({"ended": ended, "written": written, "file": path.stat().st_size, "journal": mode}), flush=True)
os._exit(0)
