"""The models by the names that sessions store: ``openai:NAME`` and ``script:FILE``. The app makes one.

What a model needs is imported at its first use: the OpenAI classes cost most of a second.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from nonoka.adapters.models.failures import not_set_up
from nonoka.errors import UsageError
from nonoka.ports.model import Model

#: Servers of one's own mostly want no key, but the client library demands that there is one.
_PLACEHOLDER_KEY = "none"


class ModelCatalog:
    """Finds models by name and keeps those it has found. The environment is read when a model is asked for."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._models: dict[str, Model] = {}

    def normalized(self, name: str) -> str:
        """The name with an absolute path. Raises UsageError for an unknown kind and for an unusable script."""
        kind, rest = _split(name)
        if kind != "script":
            return f"{kind}:{rest}"
        path = Path(rest).expanduser().absolute()
        _read_script(path)
        return f"{kind}:{os.path.normpath(path)}"

    def check(self, name: str) -> None:
        """Raise UsageError, saying what to set or mend, where this process can't ask that model."""
        kind, rest = _split(name)
        if kind == "script":
            _read_script(Path(rest))
        elif base_url := self._setting("OPENAI_BASE_URL"):
            _check_url(base_url)
        elif not self._setting("OPENAI_API_KEY"):
            raise UsageError(
                f"{name!r} needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server, "
                "or choose another model with --model or NONOKA_MODEL"
            )

    async def get(self, name: str) -> Model:
        """The model by its stored name. Raises ModelFailure("not_set_up") where this process can't ask it."""
        if name not in self._models:
            # In a thread: the imports would stop every other session on this event loop.
            self._models[name] = await asyncio.to_thread(self._load, name)
        return self._models[name]

    def _load(self, name: str) -> Model:
        try:
            self.check(name)
        except UsageError as error:
            raise not_set_up(str(error)) from error
        kind, rest = _split(name)
        if kind == "script":
            script: Model = importlib.import_module("nonoka.adapters.models.script").ScriptModel(Path(rest))
            return script
        module = importlib.import_module("nonoka.adapters.models.openai_chat")
        model: Model = module.OpenAIChat(
            rest,
            base_url=self._setting("OPENAI_BASE_URL") or module.DEFAULT_BASE_URL,
            api_key=self._setting("OPENAI_API_KEY") or _PLACEHOLDER_KEY,
        )
        return model

    def _setting(self, variable: str) -> str:
        return self._environment.get(variable, "").strip()


def _split(name: str) -> tuple[str, str]:
    kind, _, rest = name.strip().partition(":")
    if kind in ("openai", "script") and rest.strip():
        return kind, rest.strip()
    raise UsageError(
        f"no model {name!r}; there is openai:NAME (chat completions, such as openai:gpt-4o-mini) "
        "and script:FILE (answers from a YAML file)"
    )


def _read_script(path: Path) -> None:
    importlib.import_module("nonoka.adapters.models.script_file").read_script(path)


def _check_url(base_url: str) -> None:
    try:
        url = urlsplit(base_url)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        # The address isn't shown: it may hold a password.
        raise UsageError(
            "OPENAI_BASE_URL is no address of a server; set it to one such as http://localhost:8000/v1"
        )
