"""Kept results: each session reads its own and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.ports.artifacts import Excerpt


@pytest.fixture
def files(tmp_path: Path) -> ArtifactFiles:
    return ArtifactFiles(tmp_path / "artifacts")


@pytest.mark.parametrize("text", ["", "plain", "a\r\nb\rc\n", "é😀" * 100, "\ufeffx"])
def test_what_is_kept_is_read_back_as_it_is(files: ArtifactFiles, text: str) -> None:
    handle = files.keep("s", "call_1_0-1.txt", text)
    assert files.read("s", handle, 0, 1_000) == Excerpt(text=text, total=len(text))


def test_parts_are_counted_in_characters(files: ArtifactFiles) -> None:
    handle = files.keep("s", "x.txt", "0é😀3456789")
    assert files.read("s", handle, 1, 3) == Excerpt(text="é😀3", total=10)
    assert files.read("s", handle, 8, 100) == Excerpt(text="89", total=10)
    assert files.read("s", handle, 10, 1) == Excerpt(text="", total=10)


@pytest.mark.parametrize(
    "handle",
    [
        "",
        "x.txt",
        "s",
        "s/",
        "s/none",
        "s/.",
        "s/..",
        "s/../t/x.txt",
        "s//x.txt",
        "/s/x.txt",
        "./s/x.txt",
        "t/x.txt",
        "s/x.txt/",
        "s/x.txt\0",
        "s/\ud83d",
        "s/.hidden",
        "s/folder",
        f"s/{'x' * 300}",
    ],
)
def test_other_handles_name_nothing(files: ArtifactFiles, tmp_path: Path, handle: str) -> None:
    files.keep("s", "x.txt", "mine")
    files.keep("s", ".hidden", "cut off")
    files.keep("t", "x.txt", "theirs")
    (tmp_path / "artifacts/s/folder").mkdir()
    assert files.read("s", handle, 0, 10) is None


def test_a_link_is_not_followed_to_the_store(files: ArtifactFiles, tmp_path: Path) -> None:
    """A command may have put it there; opening the store's file here would cost the process its locks."""
    store = tmp_path / "sessions.db"
    store.write_text("the store")
    files.keep("s", "x.txt", "mine")
    (tmp_path / "artifacts/s/soft.txt").symlink_to(store)
    os.link(store, tmp_path / "artifacts/s/hard.txt")
    (tmp_path / "artifacts/u").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "artifacts/s/pipe.txt")
    for session, handle in (("s", "s/soft.txt"), ("s", "s/hard.txt"), ("s", "s/pipe.txt"), ("u", "u/sessions.db")):
        assert files.read(session, handle, 0, 10) is None
    assert files.read("s", "s/x.txt", 0, 10) == Excerpt(text="mine", total=4)


def test_what_is_removed_is_one_session_s_and_links_are_not_followed(files: ArtifactFiles, tmp_path: Path) -> None:
    handle, other = files.keep("s", "x.txt", "gone"), files.keep("t", "x.txt", "stays")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("stays")
    (tmp_path / "artifacts" / "s" / "link").symlink_to(tmp_path / "outside")
    files.remove("s")
    files.remove("s")
    assert files.read("s", handle, 0, 10) is None
    assert files.read("t", other, 0, 10) == Excerpt(text="stays", total=5)
    assert (tmp_path / "outside" / "file").read_text() == "stays"
