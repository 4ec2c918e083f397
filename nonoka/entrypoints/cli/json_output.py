"""What programs read: one JSON value a line on stdout."""

from __future__ import annotations

import json
import sys

from nonoka.records.base import JsonObject
from nonoka.records.event import Event


def write_json(value: object, *, indent: int | None = None) -> None:
    """The value is on stdout as JSON, at once."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=ascii_only, indent=indent) + "\n")
    sys.stdout.flush()


def event_json(event: Event) -> JsonObject:
    """An event as it stands in NDJSON and in ``show --json``: its data beside its place, time and type."""
    return {"seq": event.seq, "at": event.at, "type": event.type.value, **event.data}
