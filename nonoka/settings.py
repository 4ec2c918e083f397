"""What a process is told: flags > ``NONOKA_*`` > the nearest ``nonoka.toml`` > defaults.

Read by hand and checked by pydantic: pydantic-settings would add 70 ms to every start of the command line.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from nonoka.errors import UsageError
from nonoka.records.base import Record
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.workspace import Isolation

_PREFIX = "NONOKA_"
LogLevel = Literal["debug", "info", "warning", "error"]


class Settings(Record):
    """Everything that can be set. ``limits`` holds only what was set; an agent's own fill the rest.

    ``any_workspace``: even ``/`` or the home directory may be one. A file over ``snapshot_file_mb`` MB is in no
    snapshot. Ended sessions may go after ``keep_days``, and their snapshots where all take over
    ``snapshots_mb`` MB.
    """

    cwd: Path
    db: Path
    redis_url: str | None = None
    model: str | None = None
    agent: str = "default"
    log_level: LogLevel = "warning"
    context_tokens: int | None = Field(default=None, ge=1)
    isolation: Isolation = "none"
    any_workspace: bool = False
    snapshot_file_mb: float = Field(default=50.0, gt=0)
    keep_days: float | None = Field(default=None, ge=0)
    snapshots_mb: float = Field(default=10_000.0, gt=0)
    limits: RuntimeLimits = RuntimeLimits()

    @property
    def home(self) -> Path:
        """The directory of the store; worker locks and artifacts lie in it."""
        return self.db.parent


_PLAIN = (
    "db",
    "redis_url",
    "model",
    "agent",
    "log_level",
    "context_tokens",
    "isolation",
    "any_workspace",
    "snapshot_file_mb",
    "keep_days",
    "snapshots_mb",
)


def load_settings(cwd: Path, environ: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Settings:
    """The settings for a process that works in ``cwd``. Raises UsageError naming what is wrong and where.

    ``flags`` may hold any of the settings' names and the limits' names; None is not set.
    """
    names = (*_PLAIN, *RuntimeLimits.model_fields)
    merged: dict[str, object] = {}
    origin: dict[str, str] = {}
    file = _nearest(cwd, "nonoka.toml")
    sources: list[tuple[str, Mapping[str, object]]] = [
        (str(file), _read_toml(file, names) if file else {}),
        ("environment", {n: environ[_variable(n)] for n in names if environ.get(_variable(n))}),
        ("command line", {n: v for n, v in (flags or {}).items() if v is not None and n in names}),
    ]
    for source, values in sources:
        for name, value in values.items():
            merged[name], origin[name] = value, source
    limits = {n: merged.pop(n) for n in RuntimeLimits.model_fields if n in merged}
    db = Path(str(merged.pop("db"))).expanduser() if "db" in merged else _project(cwd) / ".nonoka/sessions.db"
    try:
        return Settings.model_validate(
            {**merged, "cwd": cwd, "db": _absolute(cwd, db), "limits": RuntimeLimits.model_validate(limits)}
        )
    except ValidationError as error:
        raise UsageError(_explained(error, origin)) from None


def _variable(name: str) -> str:
    return _PREFIX + name.upper()


def _absolute(cwd: Path, path: Path) -> Path:
    return path if path.is_absolute() else cwd / path


def _project(cwd: Path) -> Path:
    found = _nearest(cwd, ".nonoka")
    return found.parent if found else cwd


def _nearest(cwd: Path, name: str) -> Path | None:
    for directory in (cwd, *cwd.parents):
        if os.path.exists(directory / name):  # Path.exists raises where a directory above may not be looked into
            return directory / name
    return None


def _read_toml(file: Path, names: tuple[str, ...]) -> dict[str, object]:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file} can't be read: {why}") from None
    unknown = sorted(set(found) - set(names))
    if unknown:
        near = difflib.get_close_matches(unknown[0], names, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names)}"
        raise UsageError(f"{file}: no setting is called {unknown[0]!r}; {meant}")
    return {name: _anchored(name, value, file.parent) for name, value in found.items()}


def _anchored(name: str, value: object, directory: Path) -> object:
    """A path in a file is meant from there, wherever below it somebody stands."""
    if not isinstance(value, str):
        return value
    kind, colon, rest = value.partition(":")
    if name == "db":
        return str(directory / Path(value).expanduser())
    if name == "model" and kind == "script":
        return f"script:{directory / Path(rest).expanduser()}"
    if name == "agent" and colon and (kind.endswith(".py") or "/" in kind):
        return f"{directory / Path(kind).expanduser()}:{rest}"
    return value


def _explained(error: ValidationError, origin: Mapping[str, str]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "?"
    where = origin.get(name, "command line")
    called = _variable(name) if where == "environment" else name
    return f"{called} ({where}): {first['msg']}, not {first['input']!r}"
