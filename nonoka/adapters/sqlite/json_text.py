"""How a row keeps a JSON value. A commit writes some ten of them: json.dumps would take ten times as long."""

from __future__ import annotations

import json

from pydantic import JsonValue
from pydantic_core import to_json


def json_text(value: JsonValue) -> str:
    """The value as JSON text."""
    try:
        return to_json(value).decode()
    except ValueError:  # nested deeper than it goes
        return json.dumps(value, ensure_ascii=False)
