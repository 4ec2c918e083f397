"""The docs say what the code says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import get_args

from nonoka.errors import ModelFailureKind
from nonoka.records.event import EventType

DOCS = Path(__file__).parents[2] / "docs"


def test_the_states_page_is_drawn_from_the_table() -> None:
    """Run ``python docs/draw_states.py > docs/states.md`` after a change."""
    spec = importlib.util.spec_from_file_location("draw_states", DOCS / "draw_states.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "states.md").read_text(encoding="utf-8") == module.page()


def test_every_event_type_is_documented_and_no_other() -> None:
    """docs/events.md is the closed list."""
    rows = re.findall(r"^\| `([a-z_]+)` \|", (DOCS / "events.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(event.value for event in EventType)


def test_every_kind_of_model_failure_is_documented() -> None:
    """docs/errors.md names what a run can fail with."""
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    missing = [kind for kind in get_args(ModelFailureKind) if f"`{kind}`" not in text]
    assert missing == []


def test_every_promise_names_tests_that_exist() -> None:
    """docs/guarantees.md names at least one with each promise."""
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    root = DOCS.parent
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (root / file).is_file()
        or not re.search(rf"^(async )?def {name}\(", (root / file).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert missing == []
    promises = text.partition("## Promised")[2].partition("## Workspaces")[0].split("\n**")[1:]
    assert len(promises) > 5
    assert [promise[:60] for promise in promises if "`tests/" not in promise] == []
