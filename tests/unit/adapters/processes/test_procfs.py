from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nonoka.adapters.processes import procfs


@pytest.mark.parametrize("name", ["plain", "a b", ") (", ")) R 1 1 1 (", "(x) S 1"])
def test_a_programs_name_can_not_confuse_what_is_read(name: str, tmp_path: Path) -> None:
    link = tmp_path / name
    link.symlink_to("/bin/sleep")
    with subprocess.Popen([link, "300"], start_new_session=True) as popen:
        found = procfs.process(popen.pid)
        popen.kill()
    assert found is not None
    assert (found.pid, found.group, found.session, found.living) == (popen.pid, popen.pid, popen.pid, True)
    assert found.started > 0


def test_a_process_that_ended_before_it_was_reaped_does_not_live() -> None:
    with subprocess.Popen(["sleep", "300"]) as popen:
        popen.kill()
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        found = procfs.process(popen.pid)
    assert found is not None
    assert not found.living
    assert procfs.process(popen.pid) is None


def test_a_mark_is_matched_whole_or_by_its_beginning() -> None:
    source = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", source],
        env={"NONOKA_CALL": "s1:2:3", "LAST": "NONOKA_CALL=s9"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as popen:
        assert popen.stdout is not None
        popen.stdout.readline()
        pid = popen.pid
        assert procfs.carries(pid, "s1:2:3")
        assert not procfs.carries(pid, "s1:2")
        assert procfs.carries_prefix(pid, "s1:2")
        assert procfs.carries_prefix(pid, "s1:2:3")
        assert not procfs.carries_prefix(pid, "s9")
        popen.kill()


def test_a_process_that_is_gone_carries_nothing() -> None:
    with subprocess.Popen(["true"], env={"NONOKA_CALL": "m"}) as popen:
        popen.wait()
    assert not procfs.carries(popen.pid, "m")


def test_this_process_is_among_the_processes() -> None:
    assert os.getpid() in {one.pid for one in procfs.processes()}
