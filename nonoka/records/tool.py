"""What is kept and sent about tools and their calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from nonoka.records.base import JsonObject, Record
from nonoka.records.workspace import Rollback, Snapshot


class Effect(StrEnum):
    """What a tool may change; it decides how a call that was cut off is replayed."""

    #: changes nothing; such calls run side by side
    READ_ONLY = "read_only"
    #: changes files in the session's workspace only
    WORKSPACE = "workspace"
    #: may run twice under one idempotency key with the effect of once
    IDEMPOTENT = "idempotent"
    #: changes something elsewhere; the default for a tool of one's own
    EXTERNAL = "external"


#: what becomes of a call whose outcome is unknown: run it again; have the tool's own function find out whether
#: it happened; pause for a person to say; give the model "interrupted, outcome unknown" as its result; or end
#: the run with an error
OnUncertain = Literal["replay", "probe", "ask", "tell", "fail"]
#: what has to be found out, and by whom, before a settled call may begin again
Doubt = Literal["none", "probe", "ask"]


class ToolSpec(Record):
    """A tool as a model is told of it; ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: JsonObject


class ProcessGroup(Record):
    """A process group that a call started; it is let go only after this is committed.

    ``started`` is the leader's start time in kernel ticks since boot; ``mark`` is the value of
    ``NONOKA_CALL`` in the environment of everything that it starts.
    """

    group: int
    started: int
    boot_id: str
    pid_namespace: str
    mark: str


class CallState(Record):
    """A call of the open turn as a transaction finds it.

    ``begun``: under ``fence``, with its outcome not recorded. Under an older fence than the claim's that
    is "in doubt". ``attempt`` counts begins. ``position`` is where its result belongs.
    ``snapshot`` is the workspace as it was before the attempt, ``repository`` the user's own git repository
    then (both None but for effect workspace). ``over_at`` (ms UTC) is the call's last possible moment of life,
    once one who settles has found it out; ``undone`` is the snapshot of what its rollback replaces, taken before
    that begins; ``stuck_since`` (ms UTC) is when a rollback failed first. ``doubt`` stays until the outcome is
    known. ``overdue_s``: the time it had is over, so many seconds, and only the end of its worker stops it.
    ``step`` names an attempt of a plan's step instead of a turn's call.
    """

    turn: int
    place: int
    call_id: str
    name: str
    args: JsonObject | str
    position: int
    status: Literal["not_begun", "begun", "done"] = "not_begun"
    attempt: int = 0
    fence: int = 0
    effect: Effect = Effect.EXTERNAL
    on_uncertain: OnUncertain = "replay"
    processes: tuple[ProcessGroup, ...] = ()
    snapshot: str | None = None
    repository: str | None = None
    over_at: int | None = None
    undone: str | None = None
    stuck_since: int | None = None
    doubt: Doubt = "none"
    overdue_s: float | None = None
    step: str | None = None

    @property
    def step_id(self) -> str:
        """The name of this call in ``step_updates``, or of a plan's step in the session."""
        return self.step or f"turn:{self.turn}/call:{self.place}"


class CallResult(Record):
    """What a call brought. ``content`` is valid UTF-8 without NUL, within the size that a model is given.

    ``error_type`` is set where the call failed; ``artifact`` names the file beside the store that holds
    the whole of a result that was cut.
    """

    content: str
    error_type: str | None = None
    traceback: str = ""
    artifact: str | None = None
    duration_ms: int = 0


class CallStart(Record):
    """That a call is about to run: commit B records it before anything of it happens."""

    place: int
    effect: Effect
    on_uncertain: OnUncertain
    snapshot: Snapshot | None = None


class SettledCall(Record):
    """What settling found and did about a begun call, before that is committed.

    ``rollback`` is what going back to the call's snapshot did. ``not_rolled_back`` says why nothing was: git
    itself was run, or the snapshot or the workspace is gone; then the call is not replayed.
    """

    place: int
    rollback: Rollback | None = None
    not_rolled_back: str | None = None
