"""A tool sees its workspace and nothing else."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.errors import ToolFailure


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.txt").write_text("secret")
    made = tmp_path / "work"
    made.mkdir()
    (made / "sub").mkdir()
    (made / "a.txt").write_text("inside")
    (made / ".nonoka").mkdir()
    (made / ".nonoka" / "sessions.db").write_text("the store")
    (made / "sub" / ".nonoka").mkdir()
    return made


@pytest.fixture
def files(root: Path) -> WorkspaceFiles:
    status = (root / ".nonoka" / "sessions.db").stat()
    return WorkspaceFiles(root, lambda: frozenset({(status.st_dev, status.st_ino)}))


def refused(files: WorkspaceFiles, path: str, *, writing: bool = True) -> None:
    """By every operation."""
    with pytest.raises(ToolFailure):
        files.resolve(path)
    with pytest.raises(ToolFailure):
        files.read_text(path)
    if writing:
        with pytest.raises(ToolFailure):
            files.resolve(path, for_writing=True)
        with pytest.raises(ToolFailure):
            files.write_text(path, "x")


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside.txt",
        "sub/../../outside.txt",
        "sub/./..//../outside.txt",
        "none/../../outside.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "/proc/self/environ",
        ".nonoka/sessions.db",
        "./.nonoka/new",
        "sub/.nonoka/x",
        "sub/../.nonoka/sessions.db",
        "new/.nonoka/x",
        ".NONOKA/x",
        ".nonoka",
        "a.txt/.nonoka/x",
        "a\0b",
        "\ud83d",
        "x/" * 3000 + "x",
        "x" * 300,
    ],
)
def test_no_spelling_of_a_path_leads_out(files: WorkspaceFiles, root: Path, path: str) -> None:
    refused(files, path)
    assert (root.parent / "outside.txt").read_text() == "secret"
    assert (root / ".nonoka" / "sessions.db").read_text() == "the store"
    assert sorted(os.listdir(root)) == [".nonoka", "a.txt", "sub"]


def test_absolute_paths_inside_are_fine_also_through_a_link_to_the_root(files: WorkspaceFiles, root: Path) -> None:
    assert files.read_text(str(root / "a.txt")) == "inside"
    link = root.parent / "link"
    link.symlink_to(root)
    linked = WorkspaceFiles(link, frozenset)
    assert linked.read_text(str(link / "a.txt")) == "inside"
    assert linked.read_text(str(root / "a.txt")) == "inside"
    assert linked.resolve("a.txt") == root / "a.txt"
    refused(linked, f"{root}/../outside.txt")
    refused(linked, f"{root}-other/x")


@pytest.mark.parametrize(
    "target", ["../outside.txt", "/etc/passwd", "..", "../dangling", "/nowhere/dangling", "sub/../../outside.txt"]
)
def test_links_that_lead_out_are_refused_dangling_ones_too(files: WorkspaceFiles, root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    refused(files, "link")
    refused(files, "link/x")
    assert sorted(os.listdir(root.parent)) == ["outside.txt", "work"]


def test_a_directory_that_is_a_link_out_is_refused(files: WorkspaceFiles, root: Path) -> None:
    (root / "up").symlink_to("..")
    (root / "chain").symlink_to("sub/more")
    (root / "sub" / "more").symlink_to("../up/new")
    for path in ("up/outside.txt", "up/new.txt", "up/new/deep.txt", "chain/x", "chain"):
        refused(files, path)
    assert sorted(os.listdir(root.parent)) == ["outside.txt", "work"]


def test_links_that_stay_inside_are_followed(files: WorkspaceFiles, root: Path) -> None:
    (root / "sub" / "relative").symlink_to("../a.txt")
    (root / "absolute").symlink_to(root / "a.txt")
    (root / "dir").symlink_to("sub")
    (root / "dangling").symlink_to("sub/made-through-it.txt")
    assert files.read_text("sub/relative") == files.read_text("absolute") == "inside"
    assert files.read_text("dir/relative") == "inside"
    # physical, as the system does it: dir/.. is where sub lies
    assert files.read_text("dir/../a.txt") == "inside"
    files.write_text("dangling", "new")
    assert (root / "sub" / "made-through-it.txt").read_text() == "new"
    assert (root / "dangling").is_symlink()
    files.write_text("absolute", "changed")
    assert (root / "a.txt").read_text() == "changed"


def test_links_into_the_store_and_links_in_circles_are_refused(files: WorkspaceFiles, root: Path) -> None:
    (root / "store").symlink_to(".nonoka")
    (root / "db").symlink_to(".nonoka/sessions.db")
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    for path in ("store", "store/sessions.db", "db", "a", "a/x"):
        refused(files, path)


def test_a_hard_link_to_a_file_of_the_store_is_refused(files: WorkspaceFiles, root: Path) -> None:
    os.link(root / ".nonoka" / "sessions.db", root / "innocent.txt")
    refused(files, "innocent.txt")
    assert (root / ".nonoka" / "sessions.db").read_text() == "the store"


def test_refusing_a_file_of_the_store_drops_no_lock_of_this_process(tmp_path: Path) -> None:
    """Closing such a file drops SQLite's POSIX locks (faults, 7): looking at it must not."""
    (tmp_path / "db").write_text("x")
    (tmp_path / "work").mkdir()
    os.link(tmp_path / "db", tmp_path / "work" / "link")
    status = (tmp_path / "db").stat()
    files = WorkspaceFiles(tmp_path / "work", lambda: frozenset({(status.st_dev, status.st_ino)}))
    ask = (
        "import fcntl, sys\n"
        "try: fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB); print('free')\n"
        "except OSError: print('held')\n"
    )

    def lock() -> str:
        done = subprocess.run(
            [sys.executable, "-c", ask, str(tmp_path / "db")],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout.strip()

    with open(tmp_path / "db", "r+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        assert lock() == "held"
        refused(files, "link")
        assert lock() == "held"
        open(tmp_path / "db").close()
        assert lock() == "free"  # that this test can tell


def test_special_files_are_refused_without_opening_them(files: WorkspaceFiles, root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        for path in ("pipe", "to-pipe", "socket"):
            refused(files, path)


def test_a_directory_is_no_file_and_a_file_no_directory(files: WorkspaceFiles) -> None:
    for path in ("sub", "sub/", ".", ""):
        with pytest.raises(ToolFailure, match="is a directory"):
            files.read_text(path)
        with pytest.raises(ToolFailure, match="is a directory"):
            files.write_text(path, "x")
    for path in ("a.txt/", "a.txt/.", "a.txt/x", "a.txt/../a.txt"):
        refused(files, path)
    with pytest.raises(ToolFailure, match="not a directory"), files.directory("a.txt"):
        pass
    with pytest.raises(ToolFailure, match="No such file"):
        files.write_text("new/", "x")


def test_a_workspace_inside_a_store_directory_is_no_workspace(root: Path) -> None:
    inside = root / ".nonoka" / "work"
    inside.mkdir()
    refused(WorkspaceFiles(inside, frozenset), "x")
    (root / "alias").symlink_to(inside)
    refused(WorkspaceFiles(root / "alias", frozenset), "x")
    refused(WorkspaceFiles(root / "gone", frozenset), "x")


def test_writing_makes_directories_and_says_the_size(files: WorkspaceFiles, root: Path) -> None:
    assert files.write_text("new/deep/é.txt", "é") == 2
    assert (root / "new" / "deep" / "é.txt").read_text() == "é"
    assert files.resolve("none/yet/x", for_writing=True) == root / "none" / "yet" / "x"
    assert not (root / "none").exists()


def test_writing_keeps_the_mode_and_obeys_the_umask(files: WorkspaceFiles, root: Path) -> None:
    (root / "a.txt").chmod(0o751)
    files.write_text("a.txt", "x")
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o751
    before = os.umask(0o027)
    try:
        files.write_text("new.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "new.txt").stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_nothing_behind(files: WorkspaceFiles, root: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(ToolFailure, match="File too large"):
            files.write_text("a.txt", "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (root / "a.txt").read_text() == "inside"
    assert sorted(os.listdir(root)) == [".nonoka", "a.txt", "sub"]


def test_a_reader_of_the_old_file_never_sees_half_of_the_new_one(files: WorkspaceFiles, root: Path) -> None:
    with files.open_file("a.txt") as old:
        files.write_text("a.txt", "changed")
        assert old.read() == b"inside"
    assert files.read_text("a.txt") == "changed"


@pytest.mark.parametrize(
    "name", ["ü.txt", "e\u0301.txt", "日本", "a b", "-rf", "new\nline", "😀", "~", "$HOME", "\udcff"]
)
def test_odd_names_are_just_names(files: WorkspaceFiles, root: Path, name: str) -> None:
    files.write_text(f"{name}/{name}", "here")
    assert files.read_text(f"{name}/{name}") == "here"
    assert (root / name / name).read_text() == "here"


def test_no_descriptor_stays_open(files: WorkspaceFiles, root: Path) -> None:
    (root / "link").symlink_to("../outside.txt")
    before = os.listdir("/proc/self/fd")
    for path in ("a.txt", "link", "sub/../a.txt", "../x", "none", ".nonoka/x", "sub"):
        for action in (files.resolve, files.read_text):
            try:
                action(path)
            except ToolFailure:
                continue
    files.write_text("n/e/w", "x")
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_lone_surrogates_in_text_are_written_as_replacement_characters(files: WorkspaceFiles, root: Path) -> None:
    files.write_text("s.txt", "a\ud83db")
    assert (root / "s.txt").read_text() == "a\ufffdb"


def test_a_tool_that_only_reads_can_not_write(root: Path) -> None:
    files = WorkspaceFiles(root, frozenset, writable=False)
    assert files.read_text("a.txt") == "inside"
    with pytest.raises(ToolFailure, match="'read_only'"):
        files.write_text("a.txt", "x")
    with pytest.raises(ToolFailure, match="'read_only'"):
        files.resolve("a.txt", for_writing=True)
    assert (root / "a.txt").read_text() == "inside"


def swap_by_renaming(root: Path) -> None:
    """dir is now the directory, now the link that leads out, now nothing."""
    for name in ("real", "link"):
        os.rename(root / name, root / "dir")
        os.rename(root / "dir", root / name)


def swap_the_target(root: Path) -> None:
    """dir is a link, now to the directory, now to the one outside."""
    for target in ("real", ".."):
        os.symlink(target, root / "next")
        os.replace(root / "next", root / "dir")


@pytest.mark.parametrize(("swap", "writing"), [(swap_by_renaming, False), (swap_the_target, True)])
def test_a_directory_that_is_swapped_for_a_link_meanwhile_never_leads_out(
    files: WorkspaceFiles, root: Path, swap: Callable[[Path], None], writing: bool
) -> None:
    (root / "real").mkdir()
    (root / "real" / "outside.txt").write_text("inside")
    (root / "link").symlink_to("..")
    if writing:
        (root / "dir").symlink_to("real")
    over = threading.Event()

    def swap_often() -> None:
        try:
            for _ in range(2_000):
                swap(root)
        finally:
            over.set()

    seen: set[str] = set()
    swapping = threading.Thread(target=swap_often)
    swapping.start()
    while not over.is_set():
        try:
            seen.add(files.read_text("dir/outside.txt"))
            if writing:
                files.write_text("dir/outside.txt", "inside")
        except ToolFailure:
            continue
    swapping.join()
    assert seen <= {"inside"}
    assert (root.parent / "outside.txt").read_text() == "secret"


parts = st.sampled_from(["..", ".", "", "sub", "a.txt", "out", "in", "loop", ".nonoka", "new", "/", "deep"])


@given(st.lists(parts, max_size=8))
def test_no_path_of_any_parts_resolves_outside(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    root = tmp_path_factory.getbasetemp() / "walked"
    if not root.exists():
        (root / "sub" / "deep").mkdir(parents=True)
        (root / "a.txt").write_text("x")
        (root / "out").symlink_to("sub/../..")
        (root / "in").symlink_to("sub/deep/..")
        (root / "loop").symlink_to("loop")
        (root / ".nonoka").mkdir()
    path = "/".join(names)
    files = WorkspaceFiles(root, frozenset)
    for writing in (True, False):
        try:
            found = files.resolve(path, for_writing=writing)
        except ToolFailure:
            continue
        assert Path(os.path.realpath(found)).is_relative_to(root)
        assert ".nonoka" not in found.relative_to(root).parts
        if os.path.lexists(root / path):
            assert os.path.realpath(root / path) == str(found)
