"""A directory that was made for a session goes only if nothing is lost with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nonoka.adapters.workspace import GitWorktrees
from tests.support.trees import everything_of, git, tree_of


@pytest.fixture(autouse=True)
def _nobody_in_particular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
async def tree(workspace: Path, tmp_path: Path) -> Path:
    """A working tree with a committed change and a mark of ours."""
    target = tmp_path / "trees" / "one"
    await GitWorktrees().make(workspace, target, "nonoka/1")
    (target / "b").write_text("work")
    (target / ".nonoka").mkdir()
    (target / ".nonoka" / ".gitignore").write_text("*\n")
    await GitWorktrees().commit(target, "what was done")
    return target


async def test_a_working_tree_whose_work_is_committed_goes_and_its_branch_stays(
    workspace: Path, tree: Path
) -> None:
    assert await GitWorktrees().let_go(tree, workspace, dry_run=True) is None
    assert (tree / "b").exists()

    assert await GitWorktrees().let_go(tree, workspace) is None

    assert not tree.parent.exists()
    assert git(workspace, "show", "nonoka/1:b") == "work"
    assert "trees/one" not in git(workspace, "worktree", "list")
    assert await GitWorktrees().let_go(tree, workspace) is None


def _begin_removal(tree: Path) -> None:
    begun = tree.with_name(".one.gone")
    tree.rename(begun)
    (begun / "b").unlink()


def _add(tree: Path) -> None:
    (tree / "new").write_text("mine")


def _change(tree: Path) -> None:
    (tree / "a").write_text("mine")


def _ignore(tree: Path) -> None:
    (tree / ".gitignore").write_text("*.csv\n")
    git(tree, "add", ".gitignore")
    git(tree, "commit", "--quiet", "--message", "ignore")
    (tree / "results.csv").write_text("a week of computing")


def _detach(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "--detach")


def _lock(tree: Path) -> None:
    git(tree, "worktree", "lock", str(tree))


def _nest(tree: Path) -> None:
    inner = tree / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    git(inner, "commit", "--quiet", "--allow-empty", "--message", "nowhere else")
    git(tree, "add", "inner")
    git(tree, "commit", "--quiet", "--message", "as a link")


def _merge(tree: Path) -> None:
    (tree.parent.parent / "workspace" / ".git" / "worktrees" / "one" / "MERGE_HEAD").write_text("0" * 40)


@pytest.mark.parametrize(
    ("disturb", "why"),
    [
        (_add, "not committed: new"),
        (_change, "not committed: a"),
        (_ignore, "not committed: results.csv"),
        (_detach, "HEAD is on no branch"),
        (_lock, "locked"),
        (_nest, "repositories in it: inner"),
        (_merge, "under way in it: MERGE_HEAD"),
    ],
)
async def test_a_working_tree_with_anything_that_is_nowhere_else_stays(
    workspace: Path, tree: Path, disturb: Callable[[Path], None], why: str
) -> None:
    disturb(tree)
    before, theirs = tree_of(tree), everything_of(workspace / ".git")

    told = await GitWorktrees().let_go(tree, workspace)

    assert why in str(told)
    assert tree_of(tree) == before
    assert everything_of(workspace / ".git") == theirs


async def test_one_whose_removal_was_killed_goes_the_next_time(workspace: Path, tree: Path) -> None:
    """It is renamed first, so that half of a working tree is never taken for one with changes."""
    _begin_removal(tree)

    assert await GitWorktrees().let_go(tree, workspace) is None

    assert not tree.parent.exists()
    assert "trees/one" not in git(workspace, "worktree", "list")


async def test_one_whose_repository_is_gone_stays(workspace: Path, tree: Path) -> None:
    shutil.rmtree(workspace)
    assert "no git working tree any more" in str(await GitWorktrees().let_go(tree, workspace))
    assert (tree / "b").read_text() == "work"


async def test_a_copy_goes_only_if_it_is_empty(tmp_path: Path) -> None:
    fork = tmp_path / "forks" / "one"
    (fork / ".nonoka").mkdir(parents=True)
    (fork / "a").write_text("where else?")
    assert "nowhere else: a" in str(await GitWorktrees().let_go(fork, None))
    (fork / "a").unlink()
    assert await GitWorktrees().let_go(fork, None, dry_run=True) is None
    assert fork.exists()
    assert await GitWorktrees().let_go(fork, None) is None
    assert not fork.parent.exists()
    assert await GitWorktrees().let_go(fork, None) is None
