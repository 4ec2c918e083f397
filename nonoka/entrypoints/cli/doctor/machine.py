"""What nonoka needs of the machine: Python, SQLite, git; and the queue that was asked for."""

from __future__ import annotations

import platform
import shutil
import sqlite3
import sys

from nonoka.app import broker_name
from nonoka.entrypoints.cli.doctor.finding import Finding
from nonoka.errors import UsageError
from nonoka.settings import Settings

#: STRICT tables came with it; tested from 3.40 on.
LEAST_SQLITE = (3, 37, 0)


def machine(settings: Settings) -> list[Finding]:
    """What was found of it."""
    return [_python(), _sqlite(), _git(), _broker(settings)]


def _python() -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} ({sys.executable})")


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info >= LEAST_SQLITE:
        return Finding("sqlite", "ok", sqlite3.sqlite_version)
    return Finding(
        "sqlite",
        "wrong",
        f"{sqlite3.sqlite_version} is too old for the store",
        "use a Python that was built with SQLite 3.37 or newer",
    )


def _git() -> Finding:
    found = shutil.which("git")
    if found is not None:
        return Finding("git", "ok", found)
    return Finding("git", "wrong", "not found on PATH", "install git")


def _broker(settings: Settings) -> Finding:
    try:
        name = broker_name(settings)
    except UsageError as error:
        return Finding("broker", "wrong", str(error), "mend NONOKA_REDIS_URL (redis_url), or unset it")
    return Finding("broker", "ok", f"{name}, fed from the store" if settings.redis_url is None else name)
