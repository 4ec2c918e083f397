"""Each example does what it says, started as its first lines say."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from httpx2 import ASGITransport, AsyncClient

EXAMPLES = Path(__file__).parents[2] / "examples"
NONOKA = Path(sys.executable).with_name("nonoka")
PATIENCE_S = 60.0


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An empty directory to be in, and nothing of ours set; also for what is started."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("NONOKA_", "OPENAI_")):
            monkeypatch.delenv(name)
    return dict(os.environ)


def run(*command: str, environ: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def a_worker(environ: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen([NONOKA, "worker"], env=environ) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0


def payments() -> list[tuple[str, int]]:
    with closing(sqlite3.connect("payments.db")) as db:
        return db.execute("SELECT invoice, cents FROM payments").fetchall()


def test_the_agent_of_ones_own_pays_without_a_key(environ: dict[str, str]) -> None:
    said = run(str(EXAMPLES / "own_agent.py"), environ=environ)
    assert said.startswith("completed: Invoice A-17 is paid (120.00).\nsession ")
    assert payments() == [("A-17", 12_000)]


def test_the_test_with_a_crash_passes_in_a_project_of_its_own(environ: dict[str, str], tmp_path: Path) -> None:
    """It needs nothing of this project's configuration."""
    shutil.copy(EXAMPLES / "test_agent_with_a_crash.py", tmp_path)
    said = run("-m", "pytest", "-q", "--rootdir", str(tmp_path), "-p", "no:cacheprovider", environ=environ)
    assert said.splitlines()[-1].startswith("2 passed"), said


@pytest.fixture
def fastapi_app() -> ModuleType:
    """The module, anew: an app lives once."""
    spec = importlib.util.spec_from_file_location("fastapi_app", EXAMPLES / "fastapi_app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fastapi_app"] = module  # its annotations are looked up there
    spec.loader.exec_module(module)
    return module


async def test_the_app_enqueues_and_follows_what_a_worker_does(
    environ: dict[str, str], fastapi_app: ModuleType
) -> None:
    app = fastapi_app.app
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://app", timeout=PATIENCE_S) as client,
    ):
        ids = []
        for _ in range(2):
            answer = await client.post("/sessions", json={"prompt": "Pay invoice A-17", "key": "request 1"})
            assert answer.status_code == 202
            ids.append(answer.json()["session_id"])
        assert ids[0] == ids[1]
        session = f"/sessions/{ids[0]}"
        assert (await client.get(session)).json()["status"] == "created"
        with a_worker(environ):
            followed = (await client.get(f"{session}/events")).text
        assert (await client.get(session)).json()["data"] == "Invoice A-17 is paid (120.00)."
        later = (await client.get(f"{session}/events", headers={"Last-Event-ID": "3"})).text
    assert payments() == [("A-17", 12_000)]
    assert told(followed)[:2] == ["session_created", "prompt_accepted"]
    assert told(followed)[-2:] == ["session_completed", "end"]
    assert told(later) == told(followed)[3:]


async def test_the_app_refuses_with_a_reason(environ: dict[str, str], fastapi_app: ModuleType) -> None:
    app = fastapi_app.app
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app), base_url="http://app", timeout=PATIENCE_S) as client,
    ):
        empty = await client.post("/sessions", json={"prompt": " "})
        unknown = [
            await client.get("/sessions/0b1f/events"),
            await client.get("/sessions/0b1f"),
            await client.delete("/sessions/0b1f"),
        ]
    assert (empty.status_code, empty.json()["detail"]) == (422, "the prompt is empty; say what is to be done")
    assert {answer.status_code for answer in unknown} == {404}
    assert all("'0b1f'" in answer.json()["detail"] for answer in unknown)


def told(stream: str) -> list[str]:
    """The types of the events in a stream, in their order."""
    return [line.removeprefix("event: ") for line in stream.splitlines() if line.startswith("event: ")]
