"""Many processes want the write lock all the time."""

from __future__ import annotations

from tests.support.project import Project
from tests.support.writing_crowd import crowd

#: The fastest may have had so many times the turns of the slowest; with SQLite's own busy timeout it was 24,000.
UNFAIR = 10


async def test_no_process_is_starved_by_those_that_write_all_the_time(project: Project) -> None:
    """Four write as fast as they can, four now and then: each gets its turns."""
    async with project.store():
        pass
    with crowd(project.db, [0.0] * 4 + [0.02] * 4) as writers:
        busy, calm = writers[:4], writers[4:]
        await project.until(lambda: all(w.commits for w in writers), "all of them write")
        before = [w.commits for w in busy]

        def turns() -> list[int]:
            return [w.commits - was for w, was in zip(busy, before, strict=True)]

        await project.until(lambda: max(turns()) >= 2_000, "somebody has had 2,000 turns")
        assert min(turns()) * UNFAIR > max(turns())
        await project.until(lambda: min(w.commits for w in calm) >= 10, "everyone has had some")
