"""Workers on a Redis of the tests' own, and everything that happens to it: the outcome is always the same."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.decisions.retry import MAX_DEATHS
from tests.support.project import PLAIN, Project, children
from tests.support.redis_server import RedisServer

CALLS = 5
#: The model thinks for a moment, so that what happens to Redis happens between two turns, or in one.
SLOW: list[dict[str, object]] = [
    *({"delay_s": 0.2, "tool_calls": [{"name": "pay", "args": {"amount": n}}]} for n in range(CALLS)),
    {"text": "done"},
]
QUICK: list[dict[str, object]] = [
    *({"tool_calls": [{"name": "pay", "args": {"amount": n}}]} for n in range(CALLS)),
    {"text": "done"},
]
DEADLY: list[dict[str, object]] = [{"tool_calls": [{"name": "explode", "args": {}}]}, {"text": "I survived."}]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path / "redis") as started:
        yield started


@pytest.fixture
def project(tmp_path: Path, server: RedisServer) -> Project:
    return Project(tmp_path / "project", environ={"NONOKA_REDIS_URL": server.url})


async def some(project: Project, count: int, turns: list[dict[str, object]]) -> None:
    for _ in range(count):
        await project.create(turns, name=f"script-{uuid.uuid4()}")


async def all_once(project: Project, sessions: int) -> None:
    """Every session completes, and by the oracle each of their calls ran once."""
    await project.all_completed()
    assert len(project.statuses()) == sessions
    ran = [one.idempotency_key for one in project.oracle.ran()]
    assert len(ran) == len(set(ran)) == CALLS * sessions


async def running(project: Project, calls: int) -> None:
    await project.until(lambda: len(project.oracle.ran()) >= calls, f"{calls} calls ran")


def said(project: Project, words: str) -> Callable[[], bool]:
    return lambda: words in project.log.read_text()


async def test_every_call_of_many_sessions_runs_once_and_nothing_is_left_behind(
    server: RedisServer, project: Project
) -> None:
    """Three processes share twenty sessions; once they have ended, no message and no trace of them is there."""
    await some(project, 20, QUICK)
    with project.supervisor(processes=3):
        await all_once(project, 20)
        await project.until(lambda: not server.client.keys("*:nonoka"), "what was sent twice is dropped")
    assert len({one.pid for one in project.oracle.ran()}) > 1
    assert [key for key in server.client.scan_iter() if not key.endswith(":store")] == []


async def test_nothing_depends_on_redis_once_it_is_gone(server: RedisServer, project: Project) -> None:
    """Killed in the middle of turns, it never comes back; the workers feed themselves from the store."""
    await some(project, 3, SLOW)
    with project.supervisor(processes=2):
        await running(project, 3)
        server.kill()
        await some(project, 2, SLOW)
        await all_once(project, 5)


async def test_a_redis_that_comes_back_empty_is_used_again(server: RedisServer, project: Project) -> None:
    """Killed and restarted; the workers are the same, and their messages go through it as before."""
    await some(project, 3, SLOW)
    with project.worker(PLAIN) as worker:
        await running(project, 3)
        server.kill()
        await running(project, 6)
        server.start()
        await project.until(said(project, "redis_back"), "the worker uses it again")
        await some(project, 2, SLOW)
        await all_once(project, 5)
        assert worker.poll() is None
        assert pushes(server) > 0


async def test_workers_start_without_redis_and_use_it_once_it_is_there(
    server: RedisServer, project: Project
) -> None:
    """Absent at the start, which is said; what is there to do is done meanwhile."""
    server.kill()
    await some(project, 2, SLOW)
    with project.worker(PLAIN):
        await all_once(project, 2)
        assert "redis_away" in project.log.read_text()
        server.start()
        await project.until(said(project, "redis_back"), "the worker uses it")
        await some(project, 2, SLOW)
        await all_once(project, 4)
        assert pushes(server) > 0


@pytest.mark.parametrize("what", ["everything", "the namespace", "the messages alone", "the ids alone"])
async def test_what_is_deleted_from_redis_is_sent_again(server: RedisServer, project: Project, what: str) -> None:
    """Over and over, while sessions come in on two processes."""
    await some(project, 4, SLOW)
    with project.supervisor(processes=2):
        for _ in range(12):
            await asyncio.sleep(0.1)
            await asyncio.to_thread(delete, server, what)
        await all_once(project, 4)


def delete(server: RedisServer, what: str) -> None:
    if what == "everything":
        server.client.flushall()
        server.client.script_flush()
        return
    pattern = {"the namespace": "nonoka:*", "the messages alone": "*.msgs", "the ids alone": "*:nonoka"}[what]
    for key in server.client.scan_iter(pattern):
        server.client.delete(key)


async def test_every_message_doubled_changes_nothing(server: RedisServer, project: Project) -> None:
    """Each one is copied under another id, as long as the sessions run."""
    await some(project, 8, SLOW)
    doubled: set[str] = set()
    with project.supervisor(processes=2):
        while set(project.statuses()) != {"completed"}:
            await asyncio.to_thread(double, server, doubled)
        await all_once(project, 8)
    assert len(doubled) > 8


def double(server: RedisServer, doubled: set[str]) -> None:
    for key in server.client.scan_iter("*:nonoka.msgs"):
        for message_id, data in server.client.hgetall(key).items():
            if message_id not in doubled:
                message, copy = json.loads(data), str(uuid.uuid4())
                message |= {"message_id": copy, "options": {"redis_message_id": copy}}
                doubled |= {message_id, copy}
                server.client.hset(key, copy, json.dumps(message))
                server.client.rpush(key.removesuffix(".msgs"), copy)


async def test_a_redis_that_is_paused_for_twelve_seconds_stops_nobody(
    server: RedisServer, project: Project
) -> None:
    """Longer than any client waits: the sessions complete in it, and the worker lives through it."""
    await some(project, 2, SLOW)
    with project.worker(PLAIN) as worker:
        await running(project, 2)
        server.client.client_pause(12_000)
        await some(project, 2, SLOW)
        await all_once(project, 4)
        await project.until(said(project, "redis_back"), "the worker uses it again")
        await some(project, 1, SLOW)
        await all_once(project, 5)
        assert worker.poll() is None


async def test_a_frozen_redis_stops_nobody_and_its_late_answers_harm_nobody(
    server: RedisServer, project: Project
) -> None:
    """What waits in its sockets is done when it is thawed: a fetch nobody hears of, a message long run."""
    await some(project, 3, SLOW)
    with project.supervisor(processes=2) as supervisor:
        await running(project, 3)
        workers = children(supervisor.pid)
        server.freeze()
        await some(project, 2, SLOW)
        await all_once(project, 5)
        server.thaw()
        await project.until(said(project, "redis_back"), "a worker uses it again")
        await some(project, 2, SLOW)
        await all_once(project, 7)
        assert children(supervisor.pid) == workers


async def test_a_task_that_kills_its_workers_is_given_up_and_takes_nobody_with_it(project: Project) -> None:
    """It runs alone, for the worker asks the store what it has cost: a message holds its id alone."""
    await some(project, 3, SLOW)
    deadly = await project.create(DEADLY, name="deadly")
    with project.supervisor(processes=2):
        await project.until(lambda: not {"created", "running"} & set(project.statuses()), "all are at rest")
    assert sorted(project.statuses()) == ["completed", "completed", "completed", "failed"]
    assert [one.attempt for one in project.oracle.ran(deadly)] == list(range(1, MAX_DEATHS + 1))


async def test_a_stopped_worker_gives_back_what_it_has_not_begun(server: RedisServer, project: Project) -> None:
    """SIGTERM: status 0, and another worker does the rest."""
    await some(project, 6, SLOW)
    with project.worker(PLAIN) as worker:
        await running(project, 2)
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, 30) == 0
    assert server.client.keys("*:__acks__*") == []
    with project.worker(PLAIN):
        await all_once(project, 6)


async def refusal(project: Project, **environ: str) -> str:
    """What a worker says that refuses to start; exit status 78 and no traceback."""
    async with project.store():
        pass
    with project.worker(PLAIN, environ=environ) as worker:
        assert await asyncio.to_thread(worker.wait, 30) == 78
    told = project.log.read_text()
    assert "Traceback" not in told
    [line] = [line for line in told.splitlines() if "nonoka: error:" in line]
    return line


@pytest.mark.parametrize("url", ["http://127.0.0.1:6379", "redis://:secret@127.0.0.1:99999/0", "redis://h/first"])
async def test_a_wrong_url_is_refused_without_showing_the_password(project: Project, url: str) -> None:
    told = await refusal(project, NONOKA_REDIS_URL=url)
    assert "URL of Redis" in told
    assert "secret" not in told


async def test_a_wrong_password_is_refused(server: RedisServer, project: Project) -> None:
    server.client.acl_setuser("nonoka", enabled=True, passwords=["+right"], categories=["+@all"], keys=["*"])
    url = server.url.replace("redis://", "redis://nonoka:wrong@")
    assert "refuses the user or password" in await refusal(project, NONOKA_REDIS_URL=url)


async def test_a_server_of_something_else_is_refused(project: Project) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        assert "is no Redis" in await refusal(project, NONOKA_REDIS_URL=f"redis://127.0.0.1:{port}")


async def test_a_redis_that_throws_messages_away_is_refused(server: RedisServer, project: Project) -> None:
    server.client.config_set("maxmemory-policy", "allkeys-lru")
    told = await refusal(project)
    assert "allkeys-lru" in told
    assert "noeviction" in told


async def test_a_copy_of_a_store_is_refused_while_the_workers_of_the_original_run(
    server: RedisServer, project: Project, tmp_path: Path
) -> None:
    """They have the same id, so the messages of one would go to the other."""
    copy = Project(tmp_path / "copy", environ=project.environ)
    async with project.store():
        pass
    with project.worker(PLAIN):
        await project.until(lambda: bool(server.client.keys("*:__heartbeats__")), "the worker consumes")
        with closing(sqlite3.connect(project.db)) as db, closing(sqlite3.connect(_made(copy.db))) as other:
            db.backup(other)
        assert repr(str(project.db)) in await refusal(copy)


def _made(db: Path) -> Path:
    db.parent.mkdir(mode=0o700)
    return db


async def test_a_worker_with_another_broker_is_refused_by_name_while_one_works(project: Project) -> None:
    """Once nobody works any more it is taken over."""
    async with project.store():
        pass
    with project.worker(PLAIN) as first:
        await project.until(said(project, "worker_started"), "the worker works")
        told = await refusal(project, NONOKA_REDIS_URL="")
        assert "in-process" in told
        assert project.environ["NONOKA_REDIS_URL"] in told
        first.send_signal(signal.SIGTERM)
        await asyncio.to_thread(first.wait, 30)
    await some(project, 1, QUICK)
    with project.worker(PLAIN, environ={"NONOKA_REDIS_URL": ""}):
        await all_once(project, 1)


async def test_an_acl_user_and_a_unix_socket_are_enough(tmp_path: Path) -> None:
    """A user who may touch nonoka's keys alone, without what administrators may."""
    with tempfile.TemporaryDirectory() as short:  # the path of a socket has 107 bytes at most
        socket = Path(short) / "redis.sock"
        with RedisServer(tmp_path / "redis", "--unixsocket", str(socket)) as server:
            server.client.acl_setuser(
                "nonoka",
                enabled=True,
                passwords=["+right"],
                categories=["+@all", "-@admin", "-@dangerous"],
                keys=["nonoka:*"],
            )
            url = f"unix://nonoka:right@{socket}?db=0"
            project = Project(tmp_path / "project", environ={"NONOKA_REDIS_URL": url})
            await some(project, 2, QUICK)
            with project.worker(PLAIN):
                await all_once(project, 2)
                assert pushes(server) > 0
                assert "redis_away" not in project.log.read_text()


_NONOKA = "import sys; from nonoka.entrypoints.cli.main import main; sys.exit(main())"


def enqueue(project: Project, url: str) -> str:
    """What ``nonoka enqueue`` prints."""
    script = project.directory / "one.yaml"
    script.write_text(json.dumps([{"text": "done"}]))
    done = subprocess.run(
        [sys.executable, "-c", _NONOKA, "enqueue", "--model", f"script:{script}", "hello"],
        cwd=project.workspace,
        env={"PATH": os.environ["PATH"], "NONOKA_DB": str(project.db), "NONOKA_REDIS_URL": url},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def test_what_is_enqueued_is_sent_and_stored_even_where_it_cannot_be_sent(
    server: RedisServer, project: Project
) -> None:
    """The message holds the task's id and nothing else; without Redis the id is printed all the same."""
    async with project.store():
        pass
    session_id = await asyncio.to_thread(enqueue, project, server.url)
    [messages] = server.client.keys("*:nonoka.msgs")
    [message] = server.client.hgetall(messages).values()
    assert json.loads(message)["args"] == [f"{session_id}/turn:1"]
    assert json.loads(message)["kwargs"] == {}
    server.kill()
    another = await asyncio.to_thread(enqueue, project, server.url)
    assert another != session_id
    with project.worker(PLAIN):
        await project.all_completed()
    assert len(project.statuses()) == 2


def pushes(server: RedisServer) -> int:
    """How many messages this life of the server has been given."""
    stats = server.client.info("commandstats")
    return int(stats.get("cmdstat_rpush", {}).get("calls", 0))
