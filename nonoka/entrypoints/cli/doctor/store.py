"""The store's file, and what is around it."""

from __future__ import annotations

from nonoka.entrypoints.cli.doctor.finding import Finding
from nonoka.records.condition import StoreCondition


def store(found: StoreCondition) -> list[Finding]:
    """What was found of it."""
    if found.trouble is not None:
        told, _, remedy = found.trouble.partition("; ")
        return [Finding("store", "wrong", told, remedy or None)]
    place = f"{found.path} on {found.filesystem or 'an unknown file system'}"
    if not found.exists:
        return [Finding("store", "ok", f"none yet; the first session makes {place}")]
    size = f"{found.size_bytes / 1_000_000:.1f} MB"
    return [
        Finding("store", "ok", f"{place}, {size}, schema {found.schema_version}"),
        *_schema(found),
        *_private(found),
    ]


def _schema(found: StoreCondition) -> list[Finding]:
    if found.schema_version == found.known_schema:
        return []
    told = (
        f"schema {found.schema_version} is older than this nonoka's {found.known_schema}; what is in it was left"
    )
    return [Finding("schema", "note", told, "any other command brings it up to date: nonoka sessions list")]


def _private(found: StoreCondition) -> list[Finding]:
    if not found.others_may:
        return []
    told = "other users of this machine can read the sessions"
    return [Finding("access", "wrong", told, f"chmod 600 {found.path}")]
