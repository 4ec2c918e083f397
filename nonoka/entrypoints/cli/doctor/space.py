"""What lies beside the store, and what a collection would free."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nonoka.engine.gc import collect
from nonoka.entrypoints.cli.doctor.finding import Finding
from nonoka.entrypoints.cli.figures import counted, size
from nonoka.errors import NonokaError
from nonoka.records.retention import CollectionReport

if TYPE_CHECKING:
    from nonoka.engine.ports import Ports

#: Longer it is not waited for: a snapshot or a collection that is under way has its repository to itself.
PATIENCE_S = 10.0


async def space(ports: Ports) -> list[Finding]:
    """What was found of it; nothing is changed."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            report = await collect(ports, ports.retention, dry_run=True)
            artifacts = sum((await asyncio.to_thread(ports.artifacts.kept)).values())
    except TimeoutError:
        return [Finding("space", "note", f"not known within {PATIENCE_S:g} s", "nonoka gc --dry-run")]
    except (NonokaError, OSError) as error:
        return [Finding("space", "wrong", str(error), "nonoka gc --dry-run --debug")]
    return told(report, artifacts)


def told(report: CollectionReport, artifact_bytes: int) -> list[Finding]:
    """The sizes, and what nonoka gc would do."""
    snapshots = report.snapshots_size + report.snapshot_bytes
    sizes = f"artifacts {size(artifact_bytes)}, snapshots {size(snapshots)}"
    freed = report.artifact_bytes + report.snapshot_bytes + report.store_bytes
    what = [
        counted(number, one)
        for number, one in (
            (len(report.sessions), "session"),
            (report.snapshots + report.let_go, "snapshot"),
            (len(report.directories), "working tree"),
        )
        if number
    ]
    if freed or what:
        goes = f"nonoka gc would free {size(freed)}" + (f" ({', '.join(what)})" if what else "")
        sizes = f"{sizes}; {goes}"
    return [
        Finding("space", "ok", sizes),
        *(Finding("left", "note", f"{one.directory}: {one.why}", _LEFT) for one in report.left[:_NAMED]),
        *(Finding("space", "wrong", error, "nonoka gc --dry-run") for error in report.errors),
    ]


_NAMED = 3
_LEFT = "its session is deleted: take what you need from it, then remove it (git worktree remove)"
