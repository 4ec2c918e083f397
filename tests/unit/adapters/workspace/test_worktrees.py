"""A session's own worktree: made, committed and removed without hooks, signing or the user's help."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka.adapters.workspace import GitWorktrees
from nonoka.errors import WorkspaceError
from tests.support.trees import git


@pytest.fixture(autouse=True)
def _nobody_in_particular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


async def test_work_in_a_worktree_is_committed_on_its_branch(workspace: Path, tmp_path: Path) -> None:
    """Hooks don't run, nothing is signed; our name only where the user has none. Made twice, it is one."""
    hook = workspace / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git(workspace, "config", "commit.gpgSign", "true")
    worktrees, target = GitWorktrees(), tmp_path / "tree"
    await worktrees.make(workspace, target, "nonoka/1")
    await worktrees.make(workspace, target, "nonoka/1")
    assert await worktrees.commit(target, "nothing") is None
    (target / "a").write_text("changed")
    commit = await worktrees.commit(target, "what was done")
    assert (
        git(workspace, "log", "-1", "--format=%H %an %s", "nonoka/1").strip() == f"{commit} nonoka what was done"
    )
    git(workspace, "config", "user.email", "me@example.org")
    git(workspace, "config", "user.name", "Me")
    (target / "b").write_text("more")
    await worktrees.commit(target, "more")
    assert git(workspace, "log", "-1", "--format=%an", "nonoka/1").strip() == "Me"
    assert git(workspace, "status", "--porcelain") == ""
    await worktrees.remove(target)
    await worktrees.remove(target)
    assert not target.exists()
    assert "nonoka/1" in git(workspace, "branch")


async def test_a_worktree_whose_making_was_killed_is_made_anew(workspace: Path, tmp_path: Path) -> None:
    """Git locks a worktree until it is whole."""
    target = tmp_path / "tree"
    await GitWorktrees().make(workspace, target, "nonoka/1")
    (workspace / ".git" / "worktrees" / "tree" / "locked").write_text("initializing\n")
    (target / "a").unlink()
    await GitWorktrees().make(workspace, target, "nonoka/1")
    assert (target / "a").read_text() == "a\n"


async def test_where_no_worktree_can_be_the_message_says_why(workspace: Path, tmp_path: Path) -> None:
    bare, taken, empty = tmp_path / "bare", tmp_path / "taken", tmp_path / "empty"
    for directory in (bare, taken, empty):
        directory.mkdir()
    (taken / "mine").write_text("mine")
    git(empty, "init", "--quiet")
    for repository, target, why in (
        (bare, tmp_path / "t", "git init"),
        (empty, tmp_path / "t", "no commit yet"),
        (workspace, taken, "not empty"),
    ):
        with pytest.raises(WorkspaceError, match=why):
            await GitWorktrees().make(repository, target, "nonoka/1")
    assert (taken / "mine").read_text() == "mine"


@pytest.mark.parametrize("rules", ["", ".nonoka/\n", "*.log\n.nonoka\n"])
async def test_our_directory_is_in_no_commit_whether_the_user_ignores_it_or_not(
    workspace: Path, tmp_path: Path, rules: str
) -> None:
    (workspace / ".gitignore").write_text(rules)
    git(workspace, "add", ".gitignore")
    git(workspace, "commit", "--quiet", "--allow-empty", "--message", "rules")
    worktrees, target = GitWorktrees(), tmp_path / "tree"
    await worktrees.make(workspace, target, "nonoka/1")
    (target / ".nonoka").mkdir()
    (target / ".nonoka" / "mark").write_text("ours")
    assert await worktrees.commit(target, "nothing") is None
    (target / "b").write_text("work")
    assert await worktrees.commit(target, "what was done") is not None
    assert ".nonoka" not in git(target, "ls-files")
