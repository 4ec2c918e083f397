"""The named statements of this adapter's .sql files: one file a table, ``-- name: x`` above each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

TABLES = (
    "checkpoints",
    "cli_sessions",
    "events",
    "leftovers",
    "memory_entries",
    "meta",
    "plan_steps",
    "plans",
    "signals",
    "snapshots",
    "step_updates",
    "tasks",
    "workers",
    "workspace_locks",
)


@cache
def queries(table: str) -> dict[str, str]:
    """The statements of one table by name."""
    return named_statements(files(__package__).joinpath("sql", f"{table}.sql").read_text(encoding="utf-8"))


def named_statements(text: str) -> dict[str, str]:
    """The statements of a file's text by the names above them."""
    found: dict[str, str] = {}
    for block in text.split("-- name: ")[1:]:
        name, _, statement = block.partition("\n")
        found[name.strip()] = statement.strip().rstrip(";")
    return found
