"""Tools for examples/plans/check_data.yaml: they look at data files, one at a time.

nonoka plan check --agent examples/plans/tools.py:checker examples/plans/check_data.yaml
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from nonoka import Agent, ToolContext, tool

#: What is told of one file at most.
MAX_PROBLEMS = 20


@tool(effect="read_only")
def data_files(context: ToolContext, directory: str) -> list[str]:
    """The CSV and JSON files right in a directory of the workspace, in the order of their names."""
    found = context.files.resolve(directory)
    return [f"{directory}/{path.name}" for path in sorted(found.iterdir()) if path.suffix in (".csv", ".json")]


@tool(effect="read_only")
def check_data_file(context: ToolContext, path: str) -> dict[str, Any]:
    """How many rows a file has and what is wrong with them.

    CSV: a header with a name for each column, and as many cells in each row. JSON: a list of objects that all
    have the same members.
    """
    text = context.files.read_text(path)
    rows, problems = _csv(text) if path.endswith(".csv") else _json(text)
    return {"path": path, "rows": rows, "ok": not problems, "problems": problems[:MAX_PROBLEMS]}


@tool(effect="read_only")
def report(checked: list[dict[str, Any]]) -> dict[str, Any]:
    """A report in Markdown of files that were checked, and how many of them are faulty."""
    lines = ["# Data check", "", "| file | rows | |", "| --- | --- | --- |"]
    lines += [f"| {c['path']} | {c['rows']} | {'ok' if c['ok'] else 'faulty'} |" for c in checked]
    for found in checked:
        if found["problems"]:
            lines += ["", f"## {found['path']}", "", *(f"- {problem}" for problem in found["problems"])]
    return {"text": "\n".join(lines) + "\n", "faulty": sum(not found["ok"] for found in checked)}


def _csv(text: str) -> tuple[int, list[str]]:
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    problems = [] if header else ["there is no header"]
    problems += [f"column {place} has no name" for place, name in enumerate(header, start=1) if not name.strip()]
    problems += [f"column {name!r} is there twice" for name in dict.fromkeys(header) if header.count(name) > 1]
    rows = 0
    for row in reader:
        if row:
            rows += 1
            if len(row) != len(header):
                problems.append(f"line {reader.line_num}: {len(row)} cells under {len(header)} columns")
    return rows, problems


def _json(text: str) -> tuple[int, list[str]]:
    try:
        records = json.loads(text)
    except ValueError as error:
        return 0, [f"not JSON: {error}"]
    if not isinstance(records, list):
        return 0, ["not a list of objects"]
    expected = set(records[0]) if records and isinstance(records[0], dict) else set()
    problems = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            problems.append(f"record {number}: not an object")
            continue
        problems += [f"record {number}: {name!r} is missing" for name in sorted(expected - set(record))]
        problems += [
            f"record {number}: {name!r} is in no record before" for name in sorted(set(record) - expected)
        ]
    return len(records), problems


checker = Agent("checker", "You check data files.", tools=[data_files, check_data_file, report])
