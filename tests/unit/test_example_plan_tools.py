"""The tools of examples/plans find what is wrong with the sample data, and nothing else."""

from __future__ import annotations

from pathlib import Path

from nonoka.agents.context import ToolContext
from nonoka.agents.registry import load_agent
from nonoka.agents.workspace_files import WorkspaceFiles

EXAMPLES = Path(__file__).parents[2] / "examples" / "plans"
checker = load_agent(f"{EXAMPLES / 'tools.py'}:checker")


def call(name: str, *args: object) -> object:
    workspace = WorkspaceFiles(EXAMPLES, frozenset, writable=False)
    context = ToolContext(session_id="s", tool_call_id="c", idempotency_key="k", workspace=workspace)
    found = checker.tool(name)
    assert found is not None
    return found(context, *args)


def test_every_data_file_is_looked_at_and_the_faulty_ones_are_told() -> None:
    paths = call("data_files", "data")
    assert paths == ["data/cities.csv", "data/customers.json", "data/orders.csv", "data/prices.json"]
    checked = [call("check_data_file", path) for path in paths]
    assert checked == [
        {"path": "data/cities.csv", "rows": 3, "ok": True, "problems": []},
        {"path": "data/customers.json", "rows": 3, "ok": False, "problems": ["record 3: 'country' is missing"]},
        {
            "path": "data/orders.csv",
            "rows": 4,
            "ok": False,
            "problems": ["line 3: 2 cells under 3 columns", "line 5: 4 cells under 3 columns"],
        },
        {"path": "data/prices.json", "rows": 2, "ok": True, "problems": []},
    ]
    report = checker.tool("report")
    assert report is not None
    found = report(checked)
    assert found["faulty"] == 2
    assert "## data/orders.csv\n\n- line 3: 2 cells under 3 columns" in found["text"]
