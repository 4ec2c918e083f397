"""Sessions over HTTP: this app stores and shows them, workers work on them.

pip install fastapi uvicorn
nonoka worker &
uvicorn --app-dir examples fastapi_app:app

curl -X POST localhost:8000/sessions -H 'content-type: application/json' -d '{"prompt": "Pay A-17"}'
curl -N localhost:8000/sessions/ID/events
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from nonoka import NonokaError, Runner, RunResult
from nonoka.errors import UnknownSession, UsageError

#: as workers find it
CLERK = f"{Path(__file__).with_name('own_agent.py')}:clerk"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One Runner for the life of the app, over the store of the directory that it was started in."""
    async with Runner(agent=CLERK) as runner:
        app.state.runner = runner
        yield


def the_runner(request: Request) -> Runner:
    """The app's Runner."""
    runner: Runner = request.app.state.runner
    return runner


RunnerOfApp = Annotated[Runner, Depends(the_runner)]
app = FastAPI(lifespan=lifespan)


class NewSession(BaseModel):
    """What is to be done. A request that is sent again with its ``key`` finds the session of the first."""

    prompt: str
    key: str | None = None


class SessionId(BaseModel):
    """A session to ask for."""

    session_id: str


@app.post("/sessions", status_code=202)
async def start(new: NewSession, runner: RunnerOfApp) -> SessionId:
    """The session is stored, and will be worked on; nothing of it is lost from here on."""
    return SessionId(session_id=await runner.enqueue(None, new.prompt, key=new.key))


@app.get("/sessions/{session_id}")
async def show(session_id: str, runner: RunnerOfApp) -> RunResult:
    """How it stands."""
    return await runner.result(session_id)


@app.get("/sessions/{session_id}/events")
async def events(
    session_id: str, runner: RunnerOfApp, last_event_id: Annotated[int, Header()] = 0
) -> StreamingResponse:
    """What happened and what happens, as server-sent events; a browser that reconnects misses none."""
    await runner.result(session_id)  # 404, while there is still a status to say it with

    async def stream() -> AsyncIterator[str]:
        async for event in runner.follow(session_id, after_seq=last_event_id):
            yield f"id: {event.seq}\nevent: {event.type.value}\ndata: {event.model_dump_json()}\n\n"
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@app.delete("/sessions/{session_id}", status_code=202)
async def cancel(session_id: str, runner: RunnerOfApp) -> None:
    """It ends where it is; it could take another prompt."""
    await runner.cancel_session(session_id)


@app.exception_handler(NonokaError)
async def refused(request: Request, error: Exception) -> JSONResponse:
    """What was asked can't be done as asked, or the store can't be used: the message says why."""
    status = 404 if isinstance(error, UnknownSession) else 422 if isinstance(error, UsageError) else 503
    return JSONResponse({"detail": str(error)}, status_code=status)
